import { createHash } from 'node:crypto';
import { type CallId, isIdText } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { ReplayedStep, SetupStore } from '../ports/fleet/setup.ts';
import { type FileIn, LinkError, type SandboxLink, type SandboxTarget } from '../ports/sandbox-link.ts';
import type {
  CallAnswer,
  CallRequest,
  Captured,
  Ending,
  FileReply,
  SandboxdError,
} from '../protocol/sandboxd/wire.ts';
import { Deadline } from '../waiting/deadline.ts';
import { timeLimit } from '../waiting/time-limit.ts';
import { refusal } from './refusal.ts';
import { undisturbed } from './undisturbed.ts';
import { isNews } from '../ports/fleet/wake-ups.ts';
import type { Wakes } from './waiting-room.ts';

/**
 * What is kept of the set-up, and how the next sandbox is given its state: each step is sent again under its own id, one after the
 * other, and must end as it did before.
 */

type Sent =
  | { readonly kind: 'call'; readonly request: CallRequest }
  | { readonly kind: 'upload'; readonly to: FileIn; readonly base64: string };

export const keptCall = (request: CallRequest): string =>
  JSON.stringify({ kind: 'call', request } satisfies Sent);

/** `to` has an id, by which the upload is written once however often it is sent. */
export const keptUpload = (to: FileIn & { readonly call: CallId }, bytes: Buffer): string =>
  JSON.stringify({ kind: 'upload', to, base64: bytes.toString('base64') } satisfies Sent);

/**
 * How a call has ended, without what differs each time; null if its end does not say all of the state that it left: it was stopped,
 * output was cut away or has bytes that are no text, processes of it went on, or one was killed for memory.
 */
export function digestOfEnd({ ending, stdout, stderr, base64, evidence }: CallAnswer): string | null {
  if (ending.kind === 'timed_out' || ending.kind === 'cancelled') return null;
  if (stdout.cutBytes > 0 || stderr.cutBytes > 0) return null;
  if (evidence.backgroundProcesses > 0 || evidence.escapedProcesses > 0) return null;
  if ((evidence.outOfMemoryKills ?? 0) > 0) return null;
  if (base64 === undefined && [stdout, stderr].some(hasLostBytes)) return null;
  const bytes = base64 && [base64.stdout, base64.stderr].map(({ head, tail }) => [head, tail]);
  return digest([ending.kind, howEnded(ending), printed(stdout), printed(stderr), bytes ?? null]);
}

/** Field by field: the next sandbox may have a sandboxd of another version, which says more. */
function howEnded(ending: Ending): unknown {
  if (ending.kind === 'exited') return ending.exitCode;
  if (ending.kind === 'signalled') return ending.signal;
  return ending.kind === 'not_started' ? ending.errno : null;
}

/** Every byte that is no UTF-8 reads as the same character. */
const hasLostBytes = ({ head, tail }: Captured): boolean => `${head}${tail}`.includes('\uFFFD');

const printed = ({ head, tail, totalBytes }: Captured): unknown => [head, tail, totalBytes];

export const digestOfUpload = ({ bytes, entries }: FileReply): string => digest([bytes, entries ?? null]);

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** Of a step that ended in no way that could be the same. */
const another = 'another end';

export type ReplayDeps = {
  readonly setups: SetupStore;
  readonly link: Pick<SandboxLink, 'call' | 'putFile' | 'settled'>;
  readonly wakes: Pick<Wakes, 'on'>;
  readonly clock: Clock;
};

/** Twice what a set-up may have taken (lib/setup.lua). */
const replayMs = 10 * 60_000;
/** How long a sandbox may refuse or take no connection. If its loss is known by then, the rollout has another one. */
const silentMs = 30_000;
const pauseMs = 1_000;
/** Beyond a step's own timeout: killing its tree on a busy machine. */
const killGraceMs = 10_000;
/** One held request, and for its answer beyond that. */
const longestPollMs = 30_000;
const answerGraceMs = 10_000;

/**
 * Replays what the sandbox of this generation lacks. A sandbox in which that does not come to an end as before, in time, loses the rollout.
 * Throws what bars the rollout then; what the link throws, if the sandbox refuses this gateway; and what fleet state throws. A repeat goes
 * on from where it was.
 */
export async function replaySetup(
  deps: ReplayDeps,
  { key, generation }: RolloutRecord,
  target: SandboxTarget,
): Promise<void> {
  const patience: Patience = { until: Deadline.in(deps.clock, replayMs), silentUntil: null };
  let before: { readonly call: CallId; readonly ended: ReplayedStep } | null = null;
  for (;;) {
    const replay = await deps.setups.replay(key, generation, before?.ended ?? null);
    if (replay.kind === 'lost') throw refusal('sandbox_lost', replay.rollout);
    // The journal then has room for the next steps. An upload is not in it.
    if (before !== null && isIdText(before.call)) deps.link.settled(target, [before.call]);
    if (replay.kind !== 'step') return;
    const { step, call, sent } = replay;
    const what = JSON.parse(sent) as Sent;
    const digest = await endOf(deps, target, { key, generation, call, what }, patience);
    before = digest === null ? null : { call, ended: { step, digest } };
  }
}

type Patience = { readonly until: Deadline; silentUntil: Deadline | null };
type Step = Pick<RolloutRecord, 'key' | 'generation'> & { readonly call: CallId; readonly what: Sent };

/** The digest of a step's end; null: fleet state is to be asked again, where another gateway's report or a loss may be known. */
async function endOf(
  deps: ReplayDeps,
  target: SandboxTarget,
  step: Step,
  patience: Patience,
): Promise<string | null> {
  if (patience.until.passed) return another;
  try {
    const end = await sendStep(deps, target, step, patience.until);
    patience.silentUntil = null;
    return end;
  } catch (thrown) {
    if (!(thrown instanceof LinkError) || refusesWords(thrown)) throw thrown;
    if (isRefused(thrown, 'file_error')) return another;
    patience.silentUntil ??= Deadline.in(deps.clock, silentMs);
    if (patience.silentUntil.passed) return another;
    await deps.clock.sleep(pauseMs);
    return null;
  }
}

function sendStep(
  deps: ReplayDeps,
  target: SandboxTarget,
  { what, ...step }: Step,
  until: Deadline,
): Promise<string | null> {
  if (what.kind === 'upload') return upload(deps.link, target, what, until);
  return sendCall(deps, target, { ...step, request: what.request }, until);
}

type SentCall = Omit<Step, 'what'> & { readonly request: CallRequest };

/** A wake-up of the rollout ends each request early: a sandbox whose node is gone never closes its connections. */
async function sendCall(
  { link, wakes }: ReplayDeps,
  target: SandboxTarget,
  { key, generation, call, request }: SentCall,
  until: Deadline,
): Promise<string | null> {
  const within = until.orIn(request.timeoutMs + killGraceMs);
  const woken = new AbortController();
  const stopListening = wakes.on(key, (wakeUp) => {
    if (isNews(wakeUp, { generation })) woken.abort();
  });
  try {
    for (;;) {
      const waitMs = Math.min(longestPollMs, within.remainingMs);
      const signal = AbortSignal.any([woken.signal, AbortSignal.timeout(waitMs + answerGraceMs)]);
      const answer = undisturbed(await link.call(target, call, request, waitMs, signal));
      if (answer !== 'running') return digestOfEnd(answer) ?? another;
      if (within.passed) return another;
    }
  } catch (thrown) {
    if (woken.signal.aborted || isRefused(thrown, 'answer_confirmed')) return null;
    throw thrown;
  } finally {
    stopListening();
  }
}

async function upload(
  link: ReplayDeps['link'],
  target: SandboxTarget,
  { to, base64 }: Extract<Sent, { kind: 'upload' }>,
  until: Deadline,
): Promise<string> {
  const bytes = Buffer.from(base64, 'base64');
  const wait = timeLimit(until.remainingMs);
  return digestOfUpload(await link.putFile(target, to, oneChunk(bytes), ...wait));
}

const isRefused = (thrown: unknown, code: SandboxdError): boolean =>
  thrown instanceof LinkError && thrown.trouble.kind === 'refused' && thrown.trouble.code === code;

/** It takes neither this gateway's token nor its words; another gateway may do. */
const refusesWords = ({ trouble }: LinkError): boolean =>
  trouble.kind === 'refused' && (trouble.status === 401 || trouble.status === 400);

async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
