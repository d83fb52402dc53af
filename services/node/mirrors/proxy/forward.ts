import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { MirrorPlan } from '../plan.ts';
import type { Account } from './account.ts';
import { answerHeaders, askedHeaders } from './headers.ts';
import { replaceLinks } from './links.ts';
import { codeOf, isDoubtful, isFailure } from './probe.ts';
import { createProgress, type Progress, quietMs } from './progress.ts';
import type { Outcome, ProbeResult, Tally } from './tally.ts';
import { type Target, targetOf } from './target.ts';
import { silent, type Upstream } from './upstream.ts';
import type { User } from './users.ts';

export type Forwarding = {
  readonly plan: MirrorPlan;
  readonly upstream: Upstream;
  readonly tally: Pick<Tally, 'asked' | 'ended' | 'silent'>;
  /** Asks a mirror that may have failed. */
  readonly probe: (mirror: string) => Promise<ProbeResult>;
  readonly onGood: (mirror: string) => void;
};

/** An asker that waited for this long without an answer did not leave too early. A grader needs no probe to confirm a failure. */
const patientMs = { policy: 5_000, unknown: quietMs, grader: quietMs } as const;

/** Answers one request of a sandbox with what the mirror answers. */
export async function forward(
  forwarding: Forwarding,
  user: User,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url = '', socket } = request;
  request.resume();
  response.on('error', () => undefined);
  if (method !== 'GET' && method !== 'HEAD') return end(response, 405, 'mirrors are only read: GET and HEAD');
  const target = targetOf(forwarding.plan, socket.localAddress ?? '', url);
  if (target === null) return end(response, 403, 'this is no address of the mirrors of this sandbox');
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  await answer({ ...forwarding, user, target, request, response, leaving: leaving.signal });
}

type Passing = Forwarding & {
  readonly user: User;
  readonly target: Target;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly leaving: AbortSignal;
};

/** From here on a request is counted, and so is its one end, whatever is thrown. */
async function answer(passing: Passing): Promise<void> {
  const { tally, user, target, response, leaving } = passing;
  tally.asked(user.whose);
  let isOver = false;
  // Said before the sandbox can know of it.
  const over = (outcome: Outcome) => {
    if (isOver) return;
    isOver = true;
    tally.ended(user.whose, outcome, () => passing.probe(target.mirror));
  };
  const leave = await user.account.enter(leaving).catch(() => null);
  // It left the line that the bounds had put it into.
  if (leave === null) return over('refused');
  const progress = createProgress({
    tally,
    hasRead: () => response.writableLength === 0,
    onSilent: () => response.destroy(silent(target.url.host)),
    onUnread: () => response.destroy(),
  });
  try {
    await pass(passing, progress, over);
  } catch (thrown) {
    const hasWaited = progress.silentMs() >= patientMs[user.whose];
    const isLeft = leaving.aborted && !hasWaited && !(thrown instanceof BrokenOff);
    over(isLeft ? 'left' : 'failed');
    end(response, 502, `the mirror ${target.url.host} failed: ${codeOf(thrown)}`);
  } finally {
    progress.end();
    leave();
  }
}

/** The mirror ended an answer before it was whole. The sandbox did not leave: its connection is closed because of this. */
class BrokenOff extends Error {}

function end(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain' });
  response.end(`Corral: ${text}\n`);
}

async function pass(passing: Passing, progress: Progress, over: (outcome: Outcome) => void): Promise<void> {
  const { plan, upstream, target, request, response, leaving, onGood } = passing;
  const { account } = passing.user;
  const refuse = () => {
    over('refused');
    end(response, 429, 'this sandbox has got as many bytes of its mirrors as it may');
  };
  if (account.isSpent()) return refuse();
  const asked = { method: request.method, headers: askedHeaders(request.headers) };
  const got = await upstream.get(target.url, asked, leaving);
  const { statusCode = 502 } = got;
  // What is good so far may break off.
  if (isFailure(statusCode)) over('failed');
  else if (isDoubtful(statusCode)) over('doubtful');
  const changes = changesOf(plan, target, request, got);
  response.writeHead(statusCode, answerHeaders(plan, got.headers, changes.length > 0));
  let brokenOff: BrokenOff | null = null;
  got.once('error', (error) => {
    if (!leaving.aborted) brokenOff = new BrokenOff(codeOf(error));
  });
  got.once('end', () => progress.made(true));
  progress.made();
  try {
    await pipeline([got, counted(account, progress), ...changes, response] as Pipe);
  } catch (thrown) {
    if (account.isSpent()) return refuse();
    throw brokenOff ?? thrown;
  }
  over('answered');
  if (!isFailure(statusCode) && !isDoubtful(statusCode)) onGood(target.mirror);
}

type Pipe = readonly [Readable, ...Transform[], ServerResponse];

/** Ends an answer that is more than the sandbox may still have. */
const counted = (account: Account, progress: Progress): Transform =>
  new Transform({
    transform: (chunk: Buffer, _encoding, callback) => {
      account.take(chunk.length);
      progress.made();
      if (account.isSpent()) callback(new Error('too many bytes'));
      else callback(null, chunk);
    },
  });

/** Documents of an index, whose links lead to servers that the sandbox has under other addresses. */
function changesOf(
  { indexes, origins }: MirrorPlan,
  { url }: Target,
  { method }: IncomingMessage,
  { headers, statusCode }: IncomingMessage,
): readonly Transform[] {
  const isIndex = indexes.some((index) => url.href.startsWith(index));
  const isWhole = statusCode === 200 && headers['content-encoding'] === undefined;
  const type = headers['content-type'] ?? '';
  if (!isIndex || !isWhole || method === 'HEAD' || !/^(?:text\/html|application\/(?:json|vnd\.))/.test(type))
    return [];
  return [replaceLinks(origins.map(({ origin, inside }) => ({ from: `${origin}/`, to: `${inside}/` })))];
}
