import { runId, tenantId } from '#src/model/ids.ts';
import type { CallResult } from '#src/calls/work.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { GatewayCore, RolloutView } from '#services/gateway/core-interface.ts';
import type { Story } from '../engine/story.ts';
import type { Asking, Ledger, Request, Told } from './ledger.ts';
import { brokenWords, idleMs } from '../environment.ts';
import { type PlatformWorld, post } from './platform.ts';
import { lastKept } from '../sandbox/daemon.ts';
import type { PlannedCall, PlannedRollout } from './plan.ts';
import { wordsFor } from './words.ts';

export type TrainerWorld = PlatformWorld & {
  readonly ledger: Ledger;
  readonly story: Story;
  readonly clock: Clock;
  /** Whether Redis has ever forgotten the fleet. */
  readonly forgotten: () => boolean;
  /** Fate hears when a policy begins to think of its last words, which is when only the grader's veto is left. */
  readonly lastThought: (plan: PlannedRollout) => void;
  /** Fate hears of each call of set-up that was answered: until the policy acts a loss may be healed. */
  readonly setUp: (plan: PlannedRollout) => void;
  /** After which time a proxy sends a call of it to another gateway, too; null: it does not. */
  readonly sentTwice: (plan: PlannedRollout) => number | null;
};

/** The platforms send a request again this often when it got a 5xx or no answer, and then discard the rollout. */
const retries = 3;
/** A controller has looked for leases that are over by then. */
const lateMs = 15_000;

export type Sent = Partial<Pick<Request, 'planned' | 'conflicting' | 'late' | 'named'>>;

/** What every trainer does with its requests: sends them to some gateway, writes down what it was told, and retries. */
export class TrainerSession {
  readonly world: TrainerWorld;
  readonly plan: PlannedRollout;

  constructor(world: TrainerWorld, plan: PlannedRollout) {
    this.world = world;
    this.plan = plan;
  }

  get caller() {
    const { face, run } = this.plan;
    return { face, tenant: tenantId('lab'), run: runId(run), keyId: 'trainer' };
  }

  async ask(
    asking: Asking,
    name: string,
    sent: Sent,
    ask: (core: GatewayCore) => Promise<Told>,
  ): Promise<Told> {
    const { ledger, story, clock } = this.world;
    const { planned = null, conflicting = false, late = false, named = [] } = sent;
    const sentMs = clock.monotonicMs();
    const request = ledger.asked({
      rollout: this.plan,
      asking,
      planned,
      call: name,
      conflicting,
      late,
      named,
      sentMs,
    });
    const alsoAfterMs = asking === 'call' ? this.world.sentTwice(this.plan) : null;
    const told = await post(this.world, this.plan.face, name, ask, alsoAfterMs);
    ledger.told(request, told, clock.monotonicMs());
    story.tell(this.plan.name, `${name}${conflicting ? ' with other arguments' : ''}: ${wordsFor(told)}`);
    return told;
  }

  /** Drawn apart, so that the story of a rollout that broke nothing does not depend on it. */
  async gradeLate(): Promise<void> {
    const { ledger, chance, clock } = this.world;
    const told = ledger.of(this.plan.name).map((request) => request.told);
    const isBroken = told.some((one) => one?.kind === 'answer' && one.output.startsWith(brokenWords));
    if (isBroken && chance.fork('grades late').happens(lateShare)) await clock.sleep(idleMs + lateMs);
  }

  /** One of the latest calls, whose answer is asked for again; null before the first call. Drawn apart, so that the rest of a story does not depend on it. */
  pickAgain(
    planned: readonly PlannedCall[],
  ): { readonly planned: PlannedCall; readonly isAttached: boolean } | null {
    const chance = this.world.chance.fork(`asks again ${planned.length}`);
    const some = planned.filter(({ kind }) => kind !== 'upload').slice(-lastKept);
    return some.length === 0 ? null : { planned: chance.pick(some), isAttached: chance.happens(0.5) };
  }

  /** Sends it until it is answered or the trainer gives up. `attempt` counts from 0. */
  async withRetries(send: (attempt: number) => Promise<Told>): Promise<Told> {
    for (let attempt = 0; ; attempt += 1) {
      const told = await send(attempt);
      if (!isAskedAgain(told) || attempt === retries) return told;
      if (told.kind === 'lost' && this.plan.vanishes) return told;
      await this.world.clock.sleep(this.world.chance.between(200, 2_000));
    }
  }
}

/** How often the grade of a rollout that broke its sandbox is asked for when its lease is over. */
const lateShare = 0.5;

/** A 202 is attached to, and a 4xx says that asking again is no use; the RFT face has neither. */
function isAskedAgain(told: Told): boolean {
  return told.kind === 'lost' || (told.kind === 'failure' && told.status >= 500);
}

export const answerOf = ({ output, outcome, code, replayed }: CallResult): Told => ({
  kind: 'answer',
  output,
  ended: `${outcome} ${code}`,
  replayed,
});

export function toldOf({ record, verdict }: RolloutView): Told {
  const code = verdict.kind === 'discard' ? verdict.code : null;
  return { kind: 'view', state: record.state, verdict: verdict.kind, code };
}
