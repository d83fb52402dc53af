import { realpathSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { endOfTar, tarHeader, tarPadding } from '#src/protocol/sandboxd/tar.ts';
import type {
  Compared,
  ContentsRequest,
  FileReply,
  ListingLine,
  ListingRequest,
} from '#src/protocol/sandboxd/wire.ts';
import { graderEnv } from './command/command-env.ts';
import type { Daemon } from './daemon.ts';
import type { AskersTime } from './http/askers-time.ts';
import { longestTransferMs, readOut, writeIn } from './files.ts';
import type { ApplyTask } from './helper/apply-changes.ts';
import { programsLeadingTo } from './programs/leading-to.ts';
import { policyIds } from './programs/permissions.ts';
import { sweepAll } from './processes/sweep.ts';
import { comparableOf, homesHere } from './reading/comparable.ts';
import { listingOf } from './reading/listing.ts';
import { type Entry, ReadError, type Reader, startReader } from './reading/reader.ts';
import { watchShortage } from './reading/shortage.ts';
import { WireError } from './wire-error.ts';

/*
 * What a policy changed below some folders, for a grader in a sandbox of the same image: a listing of both, the content of what differs, and
 * its way into the other one.
 */

/** Sends a listing, read with the policy's rights. What prevents it is its last line, so that a long one can begin at once. */
export async function sendListing(
  daemon: Daemon,
  wanted: ListingRequest,
  response: ServerResponse,
  gone: AbortSignal,
  time: AskersTime,
): Promise<void> {
  const { workspace } = daemon.config;
  const homes = wanted.homes ?? homesHere(daemon.config, daemon.env);
  const comparable = comparableOf({ ...wanted, workspace, homes });
  const list = (reader: Reader) => listingOf(reader, comparable, wanted);
  const send = async () => {
    const user = wanted.turn === null && wanted.asRoot ? 'owner' : 'policy';
    const lines = Readable.from(textOf(linesOf(daemon, user, homes, time, list)));
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    await pipeline(lines, response, { signal: AbortSignal.timeout(longestTransferMs) });
  };
  if (wanted.turn === null) return send();
  await aloneAfterAll(daemon, wanted.turn, gone, send);
}

/** In the turn of a grading, after everything of the policy was killed. */
async function aloneAfterAll(
  { config, leaders, turns }: Daemon,
  turn: number,
  gone: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const done = await turns.alone(turn, gone, async () => {
    const { survivors } = await sweepAll(config, leaders);
    if (survivors > 0)
      throw new WireError('file_error', `${survivors} processes could not be killed`, 'EBUSY');
    await work();
    return 'done';
  });
  if (done === null) throw new WireError('graded', 'a later turn of the same rollout took over');
}

async function* linesOf(
  { config }: Daemon,
  user: 'policy' | 'owner',
  homes: readonly string[],
  time: AskersTime,
  list: (reader: Reader) => AsyncIterable<ListingLine>,
): AsyncGenerator<ListingLine> {
  yield ['homes', homes];
  const shortage = watchShortage(config);
  let reader: Reader | null = null;
  try {
    reader = await startReader(config, user, time);
    yield* list(reader);
    yield ['end'];
  } catch (thrown) {
    yield errorLine(shortage.orLost(thrown));
  } finally {
    shortage.end();
    reader?.close();
  }
}

function errorLine(error: unknown): ListingLine {
  if (error instanceof ReadError) return ['error', error.code, error.message];
  if (error instanceof WireError) return ['error', error.errno ?? 'UNKNOWN', error.message];
  throw error;
}

/** Many short lines in one piece. */
const pieceCharacters = 32 * 1024;

async function* textOf(lines: AsyncIterable<ListingLine>): AsyncGenerator<string> {
  let piece = '';
  for await (const line of lines) {
    piece += `${JSON.stringify(line)}\n`;
    if (piece.length < pieceCharacters) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

/** Sends files as tar. Each is opened before the first byte, so that one that cannot be read is reported. */
export async function sendContents(
  daemon: Daemon,
  { turn, files }: ContentsRequest,
  response: ServerResponse,
  gone: AbortSignal,
  time: AskersTime,
): Promise<void> {
  await aloneAfterAll(daemon, turn, gone, () =>
    readOut(daemon.config, 'policy', response, {
      isArchive: true,
      time,
      read: (reader) => contentsOf(reader, files),
    }),
  );
}

async function* contentsOf(reader: Reader, files: ContentsRequest['files']): AsyncGenerator<Uint8Array> {
  const entries: Entry[] = [];
  for (const { path } of files) entries.push(await reader.open(path));
  for (const [index, { path, bytes }] of files.entries()) {
    const content = await reader.read(path, bytes);
    yield tarHeader({ path, kind: 'file', mode: 0o600, mtimeS: entries[index]?.mtimeS ?? 0, bytes });
    yield* content;
    yield tarPadding(bytes);
  }
  yield endOfTar;
}

/**
 * Writes changes into a sandbox in which no policy was. From then on graders find no program in these folders by its name alone. This
 * sandbox decides what it takes, because a policy with root's rights can speak for the sandboxd of its own.
 */
export async function putChanges(
  { config, env, changed }: Daemon,
  compared: Compared,
  body: IncomingMessage,
  time: AskersTime,
): Promise<FileReply> {
  const { workspace } = config;
  const here = { ...compared, workspace, homes: homesHere(config, env) };
  for (const folder of comparableOf(here).below) changed.add(realpathSync(folder));
  const task: ApplyTask = { ...here, policy: policyIds(config) };
  const written = await writeIn(config, 'owner', ['apply-changes', JSON.stringify(task)], body, time);
  const path = graderEnv(env, config, '/', {}, changed)['PATH'] ?? '';
  return {
    ...written,
    leading: programsLeadingTo({ root: config.graderRoot ?? '', folders: changed }, path),
  };
}
