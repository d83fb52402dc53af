import { Failure } from '../failure/failure.ts';
import type { Environment } from '../model/environment.ts';
import type {
  ActivationStamp,
  ClaimReply,
  ClaimRequest,
  ClaimStore,
  FailingStarts,
} from '../ports/fleet/claims.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { Grant } from '../ports/fleet/wake-ups.ts';
import { rolloutKey } from '../model/rollout.ts';
import { refusal } from './refusal.ts';
import type { SandboxPreparation } from './prepare-sandbox.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { GivenUp, NotYet, type RetryDeps, retrying, type Tries } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** A rollout and the sandbox that accepted it. `activation` is null once it is active; `preparedMs`: bind and setup. */
export type Occupied = {
  readonly rollout: RolloutRecord;
  readonly activation: ActivationStamp | null;
  readonly preparedMs: number;
};

export type ObtainDeps = RetryDeps & {
  readonly claims: ClaimStore;
  readonly room: WaitingRoom;
  readonly preparation: SandboxPreparation;
  /** Why the template's starts fail of late, told to those who waited in vain. */
  readonly lastStartFailure: (
    template: ClaimRequest['template'],
  ) => Promise<TemplateCounts['lastFailure'] | null>;
};

/**
 * From a rollout to a sandbox that has accepted it:
 *
 *   claim ──▶ held? ──no──▶ wait in line, held here ──▶ a wake-up with its sandbox, or claim once more
 *               │yes
 *               ▼
 *   claimed ──▶ prepare (bind, setup) ──refused──▶ swap: give it up, stand at the head of the line ──▶ claim
 *               │accepted
 *               ▼
 *   active
 *
 * Nothing was dispatched yet, so a swap is silent. `swaps` are those of the whole request, however often it begins from
 * the top. Throws `capacity_timeout` (or the code of the template's failing starts) when `waitUntil` passes, the same code
 * before that when the starts fail alike and nothing of it can pass, the claim's own code when it is refused, and for good
 * why the last sandbox would not do, when the request has had all that it may.
 */
export async function obtainSandbox(
  deps: ObtainDeps,
  environment: Environment,
  request: ClaimRequest,
  waitUntil: Deadline,
  swaps: Tries,
): Promise<Occupied> {
  const occupy = () => occupyOne(deps, environment, request, waitUntil, swaps.failed);
  return retrying(deps, retryPolicies.anotherSandbox, occupy, { until: waitUntil, tries: swaps });
}

async function occupyOne(
  deps: ObtainDeps,
  environment: Environment,
  request: ClaimRequest,
  waitUntil: Deadline,
  failed: number,
): Promise<Occupied> {
  const rollout = await holdInLine(deps, request, waitUntil);
  if (rollout.state !== 'claimed') return { rollout, activation: null, preparedMs: 0 };
  const beganMs = deps.clock.monotonicMs();
  const prepared = await deps.room.attend(rollout.key, () => deps.preparation.of(rollout, environment));
  if (prepared.kind === 'accepted')
    return { rollout, activation: prepared.activation, preparedMs: deps.clock.monotonicMs() - beganMs };
  const { failure } = prepared;
  if (!prepared.another) throw failure;
  if (prepared.alike && failed + 1 >= fewAlike && isToldAtOnce(request)) throw inVain(failure, failed + 1);
  const reply = await deps.claims.swap(rollout.key, rollout.generation, failure.message, failure.evidence);
  throw isKept(reply, rollout) ? failure : new NotYet(failure);
}

/** As many as make starts that fail alike certain: lib/breaker.lua. */
const fewAlike = 3;

/** The template has had too many swaps of late. */
function isKept(reply: ClaimReply, { generation }: RolloutRecord): boolean {
  return (
    reply.kind === 'held' && reply.rollout.state === 'claimed' && reply.rollout.generation === generation
  );
}

async function holdInLine(
  deps: ObtainDeps,
  request: ClaimRequest,
  waitUntil: Deadline,
): Promise<RolloutRecord> {
  const key = rolloutKey(request.owner);
  let ahead = 0;
  let waiting: RolloutRecord | null = null;
  const read = async () => {
    const reply = await deps.claims.claim(request);
    if (reply.kind === 'waiting') {
      ahead = reply.ahead;
      waiting = reply.rollout;
      const { failing } = reply;
      if (failing !== undefined && waitsInVain(request, reply.rollout, failing))
        throw startsFail(failing, ahead);
    }
    return heldOrRefused(reply);
  };
  const take = (grant: Grant) => (waiting === null ? null : deps.claims.granted(waiting, grant));
  const held = await deps.room.hold(key, waitUntil, read, take);
  return held ?? (await failWaiting(deps, request, ahead));
}

/**
 * Whether the rollout waits for a sandbox that will not come: a start that began after it joined the line has failed, as at
 * least two before it did. An earlier start does not count, because its cause may be fixed by now.
 *
 * Never on the RFT face: its platform repeats an early 503 three times within seconds, drops the rollout, and shows the message
 * to no person. Held, the rollout lives on if the cause is fixed within the 36 minutes of its requests. Never for a grader's
 * sandbox: the policy has done its work, and three quick turns without a grade would discard it.
 */
function waitsInVain(
  request: ClaimRequest,
  { placedAtMs }: RolloutRecord,
  { beganMs }: FailingStarts,
): boolean {
  return isToldAtOnce(request) && beganMs >= placedAtMs;
}

const isToldAtOnce = ({ face, owner }: ClaimRequest): boolean => face !== 'rft' && owner.role === 'policy';

/** `retry: 'no'`: a repeat would end in the same failure, until a person has fixed what the message names. */
function startsFail({ code, message, alike }: FailingStarts, ahead: number): Failure {
  const said = `${alike} sandboxes in a row failed to start, each for the same reason: ${message}`;
  return new Failure(code, `${said}; fix that, then try again`, {
    retry: 'no',
    evidence: { ahead, starts_failed: alike },
  });
}

/** The same of a setup that has failed in so many sandboxes of this request. */
function inVain({ code, message, evidence }: Failure, sandboxes: number): Failure {
  const said = `setup failed in ${sandboxes} sandboxes in a row: ${message}`;
  return new GivenUp(new Failure(code, `${said}; fix that, then try again`, { retry: 'no', evidence }));
}

function heldOrRefused(reply: ClaimReply): RolloutRecord | null {
  if (reply.kind === 'refused') throw refusal(reply.code, reply.rollout);
  return reply.kind === 'held' ? reply.rollout : null;
}

async function failWaiting(deps: ObtainDeps, request: ClaimRequest, ahead: number): Promise<never> {
  const start = await deps.lastStartFailure(request.template);
  if (start === null) {
    throw new Failure(
      'capacity_timeout',
      `no sandbox became free in time; ${ahead} rollouts stood before this one when it came`,
      {
        evidence: { ahead },
      },
    );
  }
  throw new Failure(start.code, `no sandbox could be started: ${start.message}`, { evidence: { ahead } });
}
