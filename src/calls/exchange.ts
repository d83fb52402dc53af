import { noneFailed, NotYet, type RetryDeps, retrying, type Tries } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { Deadline } from '../waiting/deadline.ts';
import { Failure } from '../failure/failure.ts';
import type { CallStore, Repeated } from '../ports/fleet/calls.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import type { Timings } from '../model/timings.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { CallAnswer, SandboxdError } from '../protocol/sandboxd/wire.ts';
import { isNews } from '../ports/fleet/wake-ups.ts';
import type { Wakes } from '../claiming/waiting-room.ts';
import { targetOf } from '../claiming/target.ts';
import { undisturbed } from '../claiming/undisturbed.ts';
import { callConflict, type Running } from './work.ts';
import { believedStep, nextStep } from './next-step.ts';
import { orNull } from './or-null.ts';

export type ExchangeDeps = RetryDeps & {
  readonly calls: Pick<CallStore, 'lookup'>;
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly wakes: Pick<Wakes, 'on'>;
  readonly timings: Pick<Timings, 'callSilenceMs' | 'answerGraceMs'>;
};

/**
 * How the exchange ended. `settled_elsewhere`: another gateway stored the answer, or the loss was recorded. `forgotten`:
 * it was settled and evicted, and fleet state has it as running: Redis forgot the answer. The journal hears of it after the
 * settling, so its word and a later look there cannot cross. `unsent`: not by us, who never had a
 * connection. `calls_used_up`: the sandbox has had as many calls as it takes, and this one was not among them.
 */
export type Exchanged =
  | { readonly kind: 'answered'; readonly answer: CallAnswer }
  | { readonly kind: 'settled_elsewhere'; readonly summary: CallSummary; readonly repeated: Repeated }
  | { readonly kind: 'forgotten' | 'calls_used_up' }
  | { readonly kind: 'unknown' | 'unsent'; readonly tries: number; readonly detail: string };

/** One held request to sandboxd; it answers `running` after that, so a dead connection is noticed. */
const longestPollMs = 30_000;

/** A call that another gateway is sending may be on its way still: so long its journal may not have it yet. */
const onItsWayMs = 5_000;

/**
 * Sends a dispatched call until somebody knows how it ended. Sending again is safe: it is a PUT by call id to one boot
 * of one sandbox, and that boot's journal runs it once. Between tries fleet state is asked, where a loss or another
 * gateway's answer is found, or that it knows nothing of the call and has the rollout in another sandbox. Then, and when
 * the deadline passes and nobody could be asked, the outcome is unknown, unless it was never sent at all. A sandboxd that
 * answers is being asked: a policy that sends more calls at once than its sandbox runs must not make their outcome
 * unknown by their waiting, so each word of it moves the deadline. It ends every call that it runs by itself.
 *
 * Throws `call_conflict` when the journal has the id with other arguments, `unknown_call` when an attachment finds
 * nothing, `unclassified` when sandboxd breaks the protocol.
 */
export async function exchange(deps: ExchangeDeps, running: Running, until: Deadline): Promise<Exchanged> {
  const asking: Asking = { deadline: until, arrived: Deadline.in(deps.clock, onItsWayMs), reached: false };
  let answer: Exchanged | 'running';
  do answer = await untilAnswered(deps, running, asking);
  while (answer === 'running');
  return answer;
}

/** What is known while a call is asked for: until when, and whether it may have been delivered. */
type Asking = {
  deadline: Deadline;
  /** From then on its journal has it, if it ever will. */
  readonly arrived: Deadline;
  reached: boolean;
};

/** Until there is an answer, or somebody knows better, or the deadline has passed; `running`: it is to be asked again at once. */
async function untilAnswered(
  deps: ExchangeDeps,
  running: Running,
  asking: Asking,
): Promise<Exchanged | 'running'> {
  const until = {
    get remainingMs() {
      return asking.deadline.remainingMs;
    },
  };
  const tries = noneFailed();
  try {
    const ask = () => askOnce(deps, running, asking, tries);
    return await retrying(deps, retryPolicies.sentCall, ask, { until, tries });
  } catch (thrown) {
    if (!(thrown instanceof LinkError)) throw thrown;
    return withoutAnswer(asking, tries, thrown.message);
  }
}

const withoutAnswer = ({ reached }: Asking, { failed }: Tries, detail: string): Exchanged => ({
  kind: reached ? 'unknown' : 'unsent',
  tries: failed,
  detail,
});

async function askOnce(
  deps: ExchangeDeps,
  running: Running,
  asking: Asking,
  tries: Tries,
): Promise<Exchanged | 'running'> {
  try {
    const answer = await poll(deps, running, asking.deadline);
    if (answer !== 'running') return { kind: 'answered', answer };
    asking.reached = true;
    asking.deadline = asking.deadline.orLaterIn(deps.timings.callSilenceMs);
    return 'running';
  } catch (thrown) {
    if (thrown instanceof WokenUp) return lookAfterWakeUp(deps, running, asking, thrown.link);
    if (!(thrown instanceof LinkError)) throw thrown;
    if (hasCode(thrown, 'calls_used_up')) return { kind: 'calls_used_up' };
    if (isFull(thrown)) asking.deadline = asking.deadline.orLaterIn(deps.timings.callSilenceMs);
    asking.reached = (await takeNextStep(deps, running, thrown, asking.arrived)) || asking.reached;
    const known = await knownSoFar(deps, running, thrown);
    if (known === null) throw new NotYet(thrown);
    if (known !== 'elsewhere') return known;
    return withoutAnswer(asking, tries, `${thrown.message}; its rollout was given another sandbox since`);
  }
}

/** What the wake-up was about is in fleet state. If that is not how the call ended, it is asked for again, and no try has failed. */
async function lookAfterWakeUp(
  deps: ExchangeDeps,
  running: Running,
  asking: Asking,
  error: LinkError,
): Promise<Exchanged | 'running'> {
  const step = nextStep(error.trouble);
  asking.reached ||= step.kind !== 'again' || step.reached;
  const known = await knownSoFar(deps, running, error);
  return known === null || known === 'elsewhere' ? 'running' : known;
}

/** It lives and has no room now: nothing ran, and nobody has to guess. */
const isFull = (error: LinkError): boolean => hasCode(error, 'journal_full');

/** It is done, and somebody has said that its answer is stored. */
export function wasConfirmed(error: LinkError): boolean {
  return hasCode(error, 'answer_confirmed');
}

function hasCode({ trouble }: LinkError, code: SandboxdError): boolean {
  return trouble.kind === 'refused' && trouble.code === code;
}

/** What fleet state has of the call; `elsewhere`: nothing, and its rollout in another sandbox. Null: it runs, or nobody can say. */
async function knownSoFar(
  deps: ExchangeDeps,
  running: Running,
  error: LinkError,
): Promise<Exchanged | 'elsewhere' | null> {
  const recorded = await orNull(() => deps.calls.lookup(running.work.key, running.work.call));
  if (recorded === null) return (await livesElsewhere(deps, running)) ? 'elsewhere' : null;
  const { summary, repeated } = recorded;
  // Another gateway has settled it, and the sandbox that is asked has its answer, as long as it keeps that.
  if (repeated?.kind === 'in_journal') return wasConfirmed(error) ? expired(summary) : null;
  if (repeated !== null) return { kind: 'settled_elsewhere', summary, repeated };
  return wasConfirmed(error) ? { kind: 'forgotten' } : null;
}

const expired = (summary: CallSummary): Exchanged => ({
  kind: 'settled_elsewhere',
  summary,
  repeated: { kind: 'answer_expired' },
});

/**
 * A Redis that failed over may have forgotten the call and given its rollout another sandbox. Then nobody will say of
 * the one that is asked that it was lost, and whoever waits for the call would keep the rollout from its new one.
 */
async function livesElsewhere(deps: ExchangeDeps, { rollout }: Running): Promise<boolean> {
  const { owner, epoch } = rollout;
  const now = await orNull(() => deps.claims.find(owner, owner.attempt));
  return now !== null && now.epoch !== null && now.epoch.sandbox !== epoch?.sandbox;
}

/**
 * One held request. A wake-up of the rollout ends it early, with `WokenUp`: a sandbox whose node is gone never closes its connections,
 * and fleet state has the verdict before any timeout. The wake-up alone settles nothing, because no replica may have that verdict yet.
 */
async function poll(
  { wakes, timings }: Pick<ExchangeDeps, 'wakes' | 'timings'>,
  running: Running,
  deadline: Deadline,
): Promise<CallAnswer | 'running'> {
  const waitMs = Math.min(longestPollMs, deadline.remainingMs);
  const woken = new AbortController();
  const stopListening = wakes.on(running.work.key, (wakeUp) => {
    if (isNews(wakeUp, running.rollout)) woken.abort();
  });
  try {
    const signal = AbortSignal.any([woken.signal, AbortSignal.timeout(waitMs + timings.answerGraceMs)]);
    return undisturbed(await running.ask(waitMs, signal));
  } catch (thrown) {
    throw woken.signal.aborted && thrown instanceof LinkError ? new WokenUp(thrown) : thrown;
  } finally {
    stopListening();
  }
}

/** What the link says of the request that was given up. */
class WokenUp extends Error {
  readonly link: LinkError;

  constructor(link: LinkError) {
    super('the rollout was woken up');
    this.link = link;
  }
}

/** Returns whether the command may have been delivered. */
async function takeNextStep(
  deps: ExchangeDeps,
  running: Running,
  error: LinkError,
  arrived: Deadline,
): Promise<boolean> {
  const step = believedStep(error.trouble, running.rollout, running.sender === null ? 'looked for' : 'sent');
  switch (step.kind) {
    case 'again':
      return step.reached;
    case 'lose': {
      const lost = targetOf(running.rollout);
      const evidence = { seen_by: 'gateway', detail: error.message, ...step.evidence };
      // Where fleet state cannot be told of it now, the next try finds the same.
      await deps.lifecycle.lose(lost.sandbox, lost.boot, step.cause, evidence);
      return true;
    }
    case 'conflict':
      throw callConflict(running.work.call);
    case 'absent':
      if (!arrived.passed) return false;
      throw new Failure('unknown_call', `call ${running.work.call} never reached the sandbox; send it again`);
    case 'fail':
      throw new Failure('unclassified', step.reason, { admitted: 'unknown' });
  }
}
