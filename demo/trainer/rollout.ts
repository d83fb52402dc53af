import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import type { Policy, ToolUse } from '../policies/policy.ts';
import { policyOf } from '../policies/roster.ts';
import { seededRandom } from '../seeded-random.ts';
import { itemOf, type Task, type TaskItem } from '../tasks/load-tasks.ts';
import { deliver, type Delivery, type Post } from './http.ts';
import { discardOf, readScore, shownText } from './reading.ts';
import type { CallRecord, Discard, Ending, RolloutEvent, RolloutRecord, Span } from './record.ts';
import { type MadeCall, sampleOf, type TrainingJob } from './training-job.ts';

export type RolloutPlan = {
  readonly rollout: string;
  readonly item: TaskItem;
  readonly copy: number;
  readonly policy: Policy;
  /** Decides what the policy does, and nothing else, so that a slow machine changes no answer. */
  readonly random: Random;
};

type TrainerWorld = {
  readonly job: TrainingJob;
  readonly post: Post;
  readonly clock: Clock;
  /** For ids, back-off and think time. */
  readonly random: Random;
  /** How long a model would write before each step but the first, at least and at most. */
  readonly thinkMs: { readonly least: number; readonly most: number };
  /** The burst's beginning on the monotonic clock. */
  readonly startMs: number;
  readonly tell: (event: RolloutEvent) => void;
};

/** The platform stops the rollout of a policy whose step could not be delivered. */
class RolloutDiscarded extends Error {
  readonly discard: Discard;

  constructor(discard: Discard) {
    super(`rollout discarded: ${discard.code}`);
    this.discard = discard;
  }
}

/** Plays one rollout to its end as a training platform does: steps, then the grader. Rejects only on our own bugs. */
export function playRollout(plan: RolloutPlan, world: TrainerWorld): Promise<RolloutRecord> {
  return new RolloutRun(plan, world).play();
}

class RolloutRun {
  readonly #plan: RolloutPlan;
  readonly #world: TrainerWorld;
  readonly #made: MadeCall[] = [];
  readonly #calls: CallRecord[] = [];
  #grading: Span | null = null;

  constructor(plan: RolloutPlan, world: TrainerWorld) {
    this.#plan = plan;
    this.#world = world;
  }

  async play(): Promise<RolloutRecord> {
    const { rollout, item, copy, policy } = this.#plan;
    const startedMs = this.#nowMs();
    const ending = await this.#ending();
    this.#tell(ending.kind);
    return {
      rollout,
      task: item.id,
      copy,
      policy: policy.name,
      startedMs,
      endedMs: this.#nowMs(),
      calls: this.#calls,
      grading: this.#grading,
      ending,
    };
  }

  async #ending(): Promise<Ending> {
    const { item, policy, random } = this.#plan;
    try {
      const text = await policy.play(item, (uses) => this.#step(uses), random);
      return await this.#grade(text);
    } catch (error) {
      if (error instanceof RolloutDiscarded) return error.discard;
      throw error;
    }
  }

  /** All calls of a step go out at once; one that cannot be delivered ends the rollout when the others are in. */
  async #step(uses: readonly ToolUse[]): Promise<readonly string[]> {
    if (this.#made.length > 0) await this.#think();
    const results = await Promise.allSettled(uses.map((use) => this.#call(use)));
    return results.map((result) => {
      if (result.status === 'fulfilled') return result.value;
      throw result.reason;
    });
  }

  async #call(use: ToolUse): Promise<string> {
    const callId = `call_${this.#world.random.text(16)}`;
    this.#made.push({ callId, use });
    this.#tell('call sent');
    const startedMs = this.#nowMs();
    const delivery = await this.#deliver(this.#toolUrl(use.name), this.#callBody(callId, use));
    const span = { startedMs, endedMs: this.#nowMs() };
    if (delivery.kind === 'gave_up') return this.#gaveUp(delivery, { ...span, callId, tool: use.name });
    const { text, leaked } = shownText(delivery.reply, callId);
    const { retries, reply } = delivery;
    const outputBytes = Buffer.byteLength(text);
    this.#calls.push({ ...span, callId, tool: use.name, status: reply.status, retries, outputBytes, leaked });
    this.#tell('call answered');
    return text;
  }

  #gaveUp(
    delivery: Extract<Delivery, { kind: 'gave_up' }>,
    call: Pick<CallRecord, 'callId' | 'tool' | 'startedMs' | 'endedMs'>,
  ): never {
    const status = delivery.reply?.status ?? null;
    this.#calls.push({ ...call, status, retries: delivery.retries, outputBytes: 0, leaked: false });
    throw new RolloutDiscarded(discardOf(delivery, 'tool call'));
  }

  /** The grader is a veto: three failed retries, or an answer without a number, discard the rollout. */
  async #grade(text: string): Promise<Ending> {
    await this.#think();
    this.#tell('grading');
    const { grader } = this.#world.job;
    const { item, rollout } = this.#plan;
    const startedMs = this.#nowMs();
    const body = JSON.stringify({ sample: sampleOf(text, this.#made), item, trace_id: rollout });
    const delivery = await this.#deliver(grader, body);
    this.#grading = { startedMs, endedMs: this.#nowMs() };
    if (delivery.kind === 'gave_up') return discardOf(delivery, 'grader');
    const score = readScore(delivery.reply);
    const message = `the grader answered ${delivery.reply.status}: ${delivery.reply.body.slice(0, 200)}`;
    return score === null
      ? { kind: 'discarded', code: 'unreadable_answer', cause: null, at: 'grader', message }
      : { kind: 'scored', score };
  }

  #deliver(
    to: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
    body: string,
  ): Promise<Delivery> {
    return deliver(() => this.#world.post(to.url, to.headers, body), this.#world);
  }

  #toolUrl(name: string) {
    const tool = this.#world.job.tools.find((one) => one.name === name);
    if (tool === undefined) throw new RangeError(`the training job has no tool ${name}`);
    return { url: tool.server_url, headers: tool.headers };
  }

  #callBody(callId: string, use: ToolUse): string {
    return JSON.stringify({
      type: 'function_call',
      id: callId.replace('call_', 'fc_'),
      call_id: callId,
      name: use.name,
      arguments: use.arguments,
      item: this.#plan.item,
      trace_id: this.#plan.rollout,
    });
  }

  #think(): Promise<void> {
    const { least, most } = this.#world.thinkMs;
    return this.#world.clock.sleep(least + this.#world.random.next() * (most - least));
  }

  #nowMs(): number {
    return this.#world.clock.monotonicMs() - this.#world.startMs;
  }

  #tell(kind: RolloutEvent['kind']): void {
    this.#world.tell({ rollout: this.#plan.rollout, task: this.#plan.item.id, kind });
  }
}

/** Every copy of every task, each with chance of its own: the same seed plans the same rollouts. */
export function planBurst(tasks: readonly Task[], copies: number, seed: string): readonly RolloutPlan[] {
  return tasks.flatMap((task) =>
    Array.from({ length: copies }, (_, copy) => ({
      rollout: `trace_${task.id}_${copy + 1}`,
      item: itemOf(task),
      copy,
      policy: policyOf(copy),
      random: seededRandom(`${seed}/${task.id}/${copy}`),
    })),
  );
}

/** Starts all rollouts in the same instant and waits for the last one. */
export function playBurst(
  plans: readonly RolloutPlan[],
  world: TrainerWorld,
): Promise<readonly RolloutRecord[]> {
  return Promise.all(plans.map((plan) => playRollout(plan, world)));
}
