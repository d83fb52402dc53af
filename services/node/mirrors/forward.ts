import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Account } from './account.ts';
import { replaceLinks } from './links.ts';
import { insideOf, type MirrorPlan } from './plan.ts';
import type { Probe } from './probe.ts';
import type { Outcome, Tally } from './tally.ts';
import { targetOf } from './target.ts';
import { silenceMs, silent, type Upstream } from './upstream.ts';
import type { Whose } from './whose.ts';

export type Forwarding = {
  readonly plan: MirrorPlan;
  readonly upstream: Upstream;
  readonly account: Account;
  readonly tally: Pick<Tally, 'asked' | 'ended' | 'silent'>;
  readonly whose: Whose;
  readonly probe: Probe;
};

/** An asker that saw nothing for this long did not leave too early for an answer. */
const patientMs = 5_000;

/** Answers one request of a sandbox with what the mirror answers. */
export async function forward(
  forwarding: Forwarding,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { plan, account, tally, whose } = forwarding;
  const { method = '', url = '', socket } = request;
  request.resume();
  const waitMs = account.nextTurnMs();
  if (waitMs > 0) await setTimeout(waitMs);
  if (method !== 'GET' && method !== 'HEAD') return end(response, 405, 'mirrors are only read: GET and HEAD');
  const target = targetOf(plan, socket.localAddress ?? '', url);
  if (target === null) return end(response, 403, 'this is no address of the mirrors of this sandbox');
  tally.asked(whose);
  // Said before the sandbox can know of it.
  const onOutcome = (outcome: Outcome) => tally.ended(whose, outcome, () => forwarding.probe(target.origin));
  if (account.isSpent()) return refuse(response, onOutcome);
  const progress = createProgress(tally);
  try {
    await pass({ ...forwarding, onOutcome, progress }, target, request, response);
  } finally {
    progress.end();
  }
}

type Passing = Forwarding & {
  readonly onOutcome: (outcome: Outcome) => void;
  readonly progress: Progress;
};

function refuse(response: ServerResponse, onOutcome: Passing['onOutcome']): void {
  onOutcome('refused');
  end(response, 429, 'this sandbox has got as many bytes of its mirrors as it may');
}

function end(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain' });
  response.end(`Corral: ${text}\n`);
}

async function pass(
  forwarding: Passing,
  target: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { upstream, onOutcome, account, progress } = forwarding;
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  const failed = (why: string) => {
    const hasWaited = progress.silentMs() >= patientMs && !response.writableNeedDrain;
    const isLeft = leaving.signal.aborted && !hasWaited;
    onOutcome(isLeft ? 'left' : 'failed');
    end(response, 502, `the mirror ${target.host} failed: ${why}`);
  };
  let answer: IncomingMessage;
  try {
    const asked = { method: request.method, headers: askedHeaders(request.headers) };
    answer = await upstream.get(target, asked, leaving.signal);
  } catch (thrown) {
    return failed(codeOf(thrown));
  }
  const { statusCode = 502 } = answer;
  // Said before the sandbox hears of it. What is good so far may break off.
  if (statusCode >= 500) onOutcome('failed');
  // An asker that does not read keeps the mirror waiting, and not the other way round.
  answer.setTimeout(silenceMs, () => response.writableNeedDrain || answer.destroy(silent(target.host)));
  const changes = changesOf(forwarding, target, request, answer);
  response.writeHead(statusCode, answerHeaders(forwarding, answer.headers, changes.length > 0));
  try {
    await pipeline([answer, counted(account, progress), ...changes, response] as Pipe);
    if (statusCode < 500) onOutcome('answered');
  } catch (thrown) {
    if (account.isSpent()) return refuse(response, onOutcome);
    if (statusCode < 500) failed(codeOf(thrown));
    else response.destroy();
  }
}

/** When the mirror last sent something. After a second without, it is not known how the request will end. */
type Progress = { made(): void; silentMs(): number; end(): void };

const quietMs = 1_000;

function createProgress(tally: Pick<Tally, 'silent'>): Progress {
  let atMs = performance.now();
  let isQuiet = false;
  const setQuiet = (quiet: boolean) => {
    if (quiet !== isQuiet) tally.silent(quiet ? 1 : -1);
    isQuiet = quiet;
  };
  const timer = globalThis.setTimeout(() => setQuiet(true), quietMs);
  return {
    made: () => {
      atMs = performance.now();
      timer.refresh();
      setQuiet(false);
    },
    silentMs: () => performance.now() - atMs,
    end: () => {
      clearTimeout(timer);
      setQuiet(false);
    },
  };
}

type Pipe = readonly [Readable, ...Transform[], ServerResponse];

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown);

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

/** Nothing of the sandbox's own goes further: no credentials, no cookies, no names of hosts. */
const askedOf = ['accept', 'if-modified-since', 'if-none-match', 'if-range', 'range', 'user-agent'] as const;

function askedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = askedOf.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
  // Links are replaced in what can be read.
  return { ...(Object.fromEntries(kept) as OutgoingHttpHeaders), 'accept-encoding': 'identity' };
}

const answerOf = [
  'accept-ranges',
  'cache-control',
  'content-encoding',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
  'retry-after',
] as const;

function answerHeaders({ plan }: Forwarding, headers: IncomingHttpHeaders, isChanged: boolean) {
  const kept = answerOf.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
  const length = headers['content-length'];
  return {
    ...(Object.fromEntries(kept) as OutgoingHttpHeaders),
    ...(headers.location !== undefined && { location: locationInside(plan, headers.location) }),
    ...(length !== undefined && !isChanged && { 'content-length': length }),
  };
}

const locationInside = (plan: MirrorPlan, location: string) =>
  URL.canParse(location) ? insideOf(plan, location) + new URL(location).search : location;

/** Documents of an index, whose links lead to servers that the sandbox has under other addresses. */
function changesOf(
  { plan }: Forwarding,
  target: URL,
  { method }: IncomingMessage,
  { headers, statusCode }: IncomingMessage,
): readonly Transform[] {
  const isIndex = plan.indexes.some((index) => target.href.startsWith(index));
  const isWhole = statusCode === 200 && headers['content-encoding'] === undefined;
  const type = headers['content-type'] ?? '';
  if (!isIndex || !isWhole || method === 'HEAD' || !/^(?:text\/html|application\/(?:json|vnd\.))/.test(type))
    return [];
  return [replaceLinks(plan.origins.map(({ origin, inside }) => ({ from: `${origin}/`, to: `${inside}/` })))];
}
