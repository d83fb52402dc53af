import { createHash } from 'node:crypto';
import { type CallId, isIdText } from '../model/ids.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { Replay, ReplayedStep, SetupStore } from '../ports/fleet/setup.ts';
import { type FileIn, LinkError, type SandboxLink, type SandboxTarget } from '../ports/sandbox-link.ts';
import type {
  CallAnswer,
  CallRequest,
  Captured,
  Ending,
  FileReply,
  SandboxdError,
} from '../protocol/sandboxd/wire.ts';
import { refusal } from './refusal.ts';
import { undisturbed } from './undisturbed.ts';
import { untilEnded } from './until-ended.ts';

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

/** How a call has ended, without what differs each time; null if its end says nothing of the state that it left. */
export function digestOfEnd({ ending, stdout, stderr, base64 }: CallAnswer): string | null {
  if (ending.kind === 'timed_out' || ending.kind === 'cancelled') return null;
  const bytes = base64 && [base64.stdout, base64.stderr].map(({ head, tail }) => [head, tail]);
  return digest([ending.kind, howEnded(ending), printed(stdout), printed(stderr), bytes ?? null]);
}

/** Field by field: the next sandbox may have a sandboxd of another version, which says more. */
function howEnded(ending: Ending): unknown {
  if (ending.kind === 'exited') return ending.exitCode;
  if (ending.kind === 'signalled') return ending.signal;
  return ending.kind === 'not_started' ? ending.errno : null;
}

const printed = ({ head, tail, totalBytes }: Captured): unknown => [head, tail, totalBytes];

export const digestOfUpload = ({ bytes, entries }: FileReply): string => digest([bytes, entries ?? null]);

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** Of a step that ended in no way that could be the same. */
const another = 'another end';

export type ReplayDeps = {
  readonly setups: SetupStore;
  readonly link: Pick<SandboxLink, 'call' | 'putFile' | 'confirm'>;
};

/** Beyond a step's own timeout: killing its tree on a busy machine. */
const killGraceMs = 10_000;
/** As long as the upload itself may have taken. */
const uploadMs = 10 * 60_000;
const confirmMs = 5_000;

/**
 * Replays what the sandbox of this generation lacks. Throws what bars the rollout if a step ends otherwise, or not all of its set-up is
 * known; what the link throws; and what fleet state throws. A repeat goes on from where it was.
 */
export async function replaySetup(
  deps: ReplayDeps,
  { key, generation }: RolloutRecord,
  target: SandboxTarget,
): Promise<void> {
  let before: { readonly call: CallId; readonly ended: ReplayedStep } | null = null;
  for (;;) {
    const replay = await deps.setups.replay(key, generation, before?.ended ?? null);
    if (replay.kind === 'lost') throw refusal('sandbox_lost', replay.rollout);
    if (before !== null) await confirm(deps, target, before.call);
    if (replay.kind !== 'step') return;
    const ended = await replayStep(deps, target, replay);
    before = ended && { call: replay.call, ended };
  }
}

/** Room in the journal for the next steps. An upload is not in it; what is not confirmed now takes room for a while. */
async function confirm({ link }: ReplayDeps, target: SandboxTarget, call: CallId): Promise<void> {
  if (!isIdText(call)) return;
  await link.confirm(target, [call], AbortSignal.timeout(confirmMs)).catch((thrown: unknown) => {
    if (!(thrown instanceof LinkError)) throw thrown;
  });
}

type Step = Extract<Replay, { kind: 'step' }>;

/** Null: another gateway has replayed it, and fleet state knows how it ended. */
async function replayStep(
  { link }: ReplayDeps,
  target: SandboxTarget,
  { step, call, sent }: Step,
): Promise<ReplayedStep | null> {
  const what = JSON.parse(sent) as Sent;
  try {
    const digest =
      what.kind === 'call' ? await sendCall(link, target, call, what) : await upload(link, target, what);
    return { step, digest };
  } catch (thrown) {
    if (isRefused(thrown, 'answer_confirmed')) return null;
    if (isRefused(thrown, 'file_error')) return { step, digest: another };
    throw thrown;
  }
}

async function sendCall(
  link: ReplayDeps['link'],
  target: SandboxTarget,
  call: CallId,
  { request }: Extract<Sent, { kind: 'call' }>,
): Promise<string> {
  const answer = await untilEnded(request.timeoutMs + killGraceMs, async (waitMs, signal) =>
    undisturbed(await link.call(target, call, request, waitMs, signal)),
  );
  return answer === 'running' ? another : (digestOfEnd(answer) ?? another);
}

async function upload(
  link: ReplayDeps['link'],
  target: SandboxTarget,
  { to, base64 }: Extract<Sent, { kind: 'upload' }>,
): Promise<string> {
  const bytes = Buffer.from(base64, 'base64');
  return digestOfUpload(await link.putFile(target, to, oneChunk(bytes), AbortSignal.timeout(uploadMs)));
}

const isRefused = (thrown: unknown, code: SandboxdError): boolean =>
  thrown instanceof LinkError && thrown.trouble.kind === 'refused' && thrown.trouble.code === code;

async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
