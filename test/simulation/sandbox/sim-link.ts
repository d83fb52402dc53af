import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { WireError } from '#services/sandboxd/wire-error.ts';
import { SettledIds } from '#src/adapters/sandboxd-http/settled-ids.ts';
import { type Artifact, tarOf } from '#src/grading/artifacts.ts';
import type { FileIn, SandboxLink, SandboxTarget } from '#src/ports/sandbox-link.ts';
import { readTar } from '#src/protocol/sandboxd/tar.ts';
import type { CallAnswer, ListingLine } from '#src/protocol/sandboxd/wire.ts';
import type { SimProcess } from '../engine/process.ts';
import type { Daemon } from './daemon.ts';
import { askOver, type Question, type WireWorld } from './wire.ts';

/** The port to sandboxes for one process: every method is one request over {@link askOver}. */
export function simLink(world: WireWorld, process: SimProcess): SandboxLink {
  const ask = <Answer>(target: SandboxTarget, question: Question<Answer>, signal: AbortSignal) =>
    askOver(world, process, target, question, signal);
  /** What is for one rollout. */
  const askFor = async <Answer>(target: SandboxTarget, question: Question<Answer>, signal: AbortSignal) => {
    const settled = settledIds.take(target);
    let unsettled: readonly string[] = [];
    const serve = async (daemon: Daemon) => {
      daemon.requireBound(target.owner);
      daemon.journal.settle(settled);
      const answer = await question.serve(daemon);
      unsettled = daemon.journal.unsettled();
      return answer;
    };
    try {
      const answer = await ask(target, { ...question, serve }, signal);
      if (unsettled.length > 0) for (const hear of hearing) hear(target, unsettled);
      return answer;
    } catch (thrown) {
      settledIds.add(target, settled);
      throw thrown;
    }
  };
  const settledIds = new SettledIds();
  const hearing: Parameters<SandboxLink['onUnsettled']>[0][] = [];
  const held = (daemon: Daemon, call: string, waitMs: number) => answerWithin(world, daemon, call, waitMs);

  return {
    identity: (target, signal, look) =>
      ask({ ...target, boot: null }, { what: 'identity', serve: (daemon) => identity(daemon, look) }, signal),
    prepare: (target, _commands, _timeoutMs, signal) => ask(target, { what: 'prepare', serve: done }, signal),
    probe: (target, _depth, signal) => ask(target, { what: 'probe', serve: probe }, signal),
    bind: (target, request, signal) =>
      ask(target, { what: `bind ${request.owner.rollout}`, serve: (daemon) => daemon.bind(request) }, signal),
    call: (target, call, request, waitMs, signal) => {
      const serve = (daemon: Daemon) => {
        daemon.receive(call, request);
        return held(daemon, call, waitMs);
      };
      return askFor(target, { what: `call ${call}`, serve }, signal);
    },
    attach: (target, call, waitMs, signal) =>
      askFor(target, { what: `attach ${call}`, serve: (daemon) => held(daemon, call, waitMs) }, signal),
    settled: (target, calls) => settledIds.add(target, calls),
    onUnsettled: (hear) => void hearing.push(hear),
    cancel: (target, call, signal) =>
      askFor(target, { what: `cancel ${call}`, serve: (daemon) => daemon.journal.cancel(call) }, signal),
    output: (target, call, _stream, signal) =>
      askFor(target, { what: `output of ${call}`, serve: noOutput }, signal),
    stream: (target, call, _from, signal) =>
      askFor(target, { what: `stream of ${call}`, serve: noStream }, signal),
    screen: (target, _terminal, signal) =>
      askFor(
        target,
        { what: 'screen', serve: () => ({ screen: null, reason: 'it has no terminals' }) },
        signal,
      ),
    stdin: (target, call, _piece, signal) =>
      askFor(target, { what: `stdin of ${call}`, serve: noStream }, signal),
    putFile: async (target, to, body, signal) => {
      const files = await filesOf(to, Buffer.concat(await Array.fromAsync(body)));
      const serve = (daemon: Daemon) => ({ bytes: putFiles(daemon, files) });
      return askFor(target, { what: `put ${to.form}`, serve, repeatable: false }, signal);
    },
    getFile: (target, { path, form }, signal) => {
      const serve = (daemon: Daemon) =>
        form === 'archive' ? tarOf(daemon.attached(path)) : bytesOf(getFile(daemon, path));
      return askFor(target, { what: 'get file', serve }, signal);
    },
    takeArtifacts: (target, request, signal) => {
      const serve = (daemon: Daemon) => tarOf(daemon.leftBehind(request.turn));
      return askFor(target, { what: `take artifacts ${request.turn}`, serve }, signal);
    },
    list: (target, { turn }, signal) => {
      const serve = (daemon: Daemon) => listingOf(turn === null ? [] : daemon.leftBehind(turn));
      return askFor(target, { what: turn === null ? 'list the image' : `list ${turn}`, serve }, signal);
    },
    contents: (target, { turn }, signal) => {
      const serve = (daemon: Daemon) => tarOf(daemon.leftBehind(turn).map(atRoot));
      return askFor(target, { what: `contents ${turn}`, serve }, signal);
    },
    putChanges: async (target, _compared, changes, signal) => {
      const body = Buffer.concat(await Array.fromAsync(changes));
      const tar = body.subarray(body.indexOf('\n') + 1);
      const files = await filesOf({ path: '/', user: 'policy', form: 'archive' }, tar);
      const serve = (daemon: Daemon) => ({ bytes: putFiles(daemon, files.map(belowRoot)) });
      return askFor(target, { what: 'put changes', serve, repeatable: false }, signal);
    },
  };
}

function identity(daemon: Daemon, look: 'brief' | undefined) {
  if (look !== undefined && daemon.identity().owner === null) daemon.probed = true;
  return daemon.identity();
}

function probe(daemon: Daemon) {
  daemon.probed = true;
  return done();
}

const changedFolder = '/testbed';
const atRoot = (file: Artifact): Artifact => ({ ...file, path: `${changedFolder}/${file.path}` });
const belowRoot = ([path, text]: Files[number]): Files[number] => [
  path.replace(`${changedFolder}/`, ''),
  text,
];

function listingOf(files: readonly Artifact[]): AsyncIterable<Uint8Array> {
  const lines: readonly ListingLine[] = [
    ['homes', []],
    ['root', changedFolder, 0o755],
    ...files.map(atRoot).map(({ path, bytes }): ListingLine => {
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return ['file', path, 0o644, bytes.length, sha256];
    }),
    ['end'],
  ];
  return bytesOf(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** What commands print here fits into their answers. */
function noOutput(): never {
  throw new WireError('answer_confirmed', 'its output had to make way');
}

/** No trainer follows a call here: what is followed decides nothing. */
function noStream(): never {
  throw new WireError('invalid_request', 'the call does not stream');
}

const done = () => ({ ok: true, durationMs: 1 }) as const;

type Files = readonly (readonly [string, string])[];

/** As many as an archive has, in the folder that it is for. */
async function filesOf({ path, form }: FileIn, bytes: Buffer): Promise<Files> {
  if (form === 'file') return [[path, bytes.toString('utf8')]];
  return Array.fromAsync(readTar(bytesOf(bytes)), async (entry) => {
    const text = Buffer.concat(await Array.fromAsync(entry.content)).toString('utf8');
    return [join(path, entry.path), text] as const;
  });
}

function putFiles(daemon: Daemon, files: Files): number {
  daemon.journal.requireUngraded();
  for (const [path, text] of files) daemon.put(path, text);
  return files.reduce((sum, [, text]) => sum + text.length, 0);
}

function getFile(daemon: Daemon, path: string): string {
  const text = daemon.files.get(path);
  if (text === undefined) throw new WireError('file_error', 'no such file', 'ENOENT');
  return text;
}

async function* bytesOf(content: string | Buffer): AsyncIterable<Uint8Array> {
  yield typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
}

async function answerWithin(
  { scheduler }: WireWorld,
  daemon: Daemon,
  call: string,
  waitMs: number,
): Promise<CallAnswer | 'running'> {
  const entry = daemon.find(call);
  if (entry.answer !== null) return daemon.answerOf(entry);
  const { promise, resolve } = Promise.withResolvers<void>();
  const heldMs = entry.state === 'received' ? Math.min(waitMs, 1_000) : waitMs;
  const timer = scheduler.after(heldMs, daemon.sandbox, `held ${call}`, resolve);
  await Promise.race([daemon.over(entry), promise]);
  timer.cancel();
  return daemon.answerOf(entry);
}
