import { callId, rolloutId, runId, tenantId } from '../../../src/model/ids.ts';
import { failureRow } from '../../../src/failure/codes.ts';
import type { GatewayCore } from '../../../services/gateway/core.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { Story } from '../engine/story.ts';
import { requestMs } from '../environment.ts';
import { commandText } from '../sandbox/command.ts';
import type { Ending, Ledger, Told } from './ledger.ts';
import { post } from './platform.ts';
import type { PlatformWorld } from './platform.ts';
import type { PlannedCall, PlannedRollout } from './plan.ts';

export type TrainerWorld = PlatformWorld & {
  readonly ledger: Ledger;
  readonly story: Story;
  readonly clock: Clock;
  /** Whether Redis has ever forgotten the fleet. */
  readonly forgotten: () => boolean;
  /** Fate hears when a policy begins to think of its last words, which is when only the grader's veto is left. */
  readonly lastThought: (plan: PlannedRollout) => void;
};

/** The platforms send a request again this often when it got a 5xx or no answer, and then discard the rollout. */
const retries = 3;
/** What we know of nobody: whether a retry carries the same call id. Mostly it does. */
const sameIdShare = 0.85;
/**
 * A platform that goes on to its grader although a call failed for good: the veto must hold then as well, unless Redis
 * has forgotten it. Then only a platform that keeps its own promise, and discards, keeps such a rollout from a score.
 */
const gradesAnyway = 0.5;
/** A wrong repeat: the same id with other arguments, to see that it is refused. */
const conflictShare = 0.05;

/** One rollout as a reinforcement-fine-tuning platform drives it: calls in waves, retries, then the grader. */
export class Trainer {
  readonly #world: TrainerWorld;
  readonly #plan: PlannedRollout;
  /** Ids of calls that were answered, as the platform would name them to the grader. */
  readonly #answered: string[] = [];

  constructor(world: TrainerWorld, plan: PlannedRollout) {
    this.#world = world;
    this.#plan = plan;
  }

  async run(): Promise<void> {
    const { clock, ledger, story } = this.#world;
    await clock.sleep(this.#plan.startMs);
    const ending = await this.#drive();
    ledger.ended(this.#plan.name, ending);
    story.tell(
      this.#plan.name,
      ending.kind === 'scored' ? `SCORED ${ending.score}` : `DISCARDED: ${ending.why}`,
    );
  }

  async #drive(): Promise<Ending> {
    for (const [index, wave] of this.#plan.waves.entries()) {
      await this.#think(index);
      const told = await Promise.all(wave.map((planned) => this.#call(planned)));
      const failed = told.find((one) => one.kind !== 'answer');
      if (failed === undefined) continue;
      if (isFinal(failed) && this.#world.chance.happens(gradesAnyway) && !this.#world.forgotten()) break;
      return { kind: 'discarded', why: wordsFor(failed) };
    }
    this.#world.lastThought(this.#plan);
    await this.#think(this.#plan.waves.length);
    const told = await this.#withRetries('grade', (attempt) => this.#grade(attempt));
    return told.kind === 'score'
      ? { kind: 'scored', score: told.score }
      : { kind: 'discarded', why: wordsFor(told) };
  }

  async #call(planned: PlannedCall): Promise<Told> {
    let id = planned.call;
    const told = await this.#withRetries(planned.call, async (attempt) => {
      if (attempt > 0 && !this.#world.chance.happens(sameIdShare)) id = `${planned.call}-again${attempt}`;
      return this.#send(planned, id, false);
    });
    if (told.kind === 'answer') this.#answered.push(id);
    if (told.kind === 'answer' && this.#world.chance.happens(conflictShare))
      await this.#send(planned, id, true);
    return told;
  }

  #send(planned: PlannedCall, call: string, conflicting: boolean): Promise<Told> {
    const command = commandText(
      conflicting ? { ...planned.command, token: 'another command' } : planned.command,
    );
    const args = planned.kind === 'bad_arguments' ? { komand: command, conflicting } : { command };
    return this.#record(planned, call, conflicting, async (core) => {
      const result = await core.toolCall(this.#caller, {
        ...this.#named,
        call: callId(call),
        tool: 'run',
        arguments: JSON.stringify(args),
        timeoutMs: null,
        waitMs: requestMs,
      });
      return { kind: 'answer', output: result.output, replayed: result.replayed };
    });
  }

  #grade(_attempt: number): Promise<Told> {
    const sample = {
      output_text: this.#plan.right ? 'yes' : 'no',
      output_tools: this.#answered.map((id) => ({ id, type: 'function' })),
    };
    return this.#record(null, 'grade', false, async (core) => {
      const { score } = await core.grade(this.#caller, { ...this.#named, sample, waitMs: requestMs });
      return { kind: 'score', score };
    });
  }

  async #record(
    planned: PlannedCall | null,
    call: string,
    conflicting: boolean,
    ask: (core: GatewayCore) => Promise<Told>,
  ): Promise<Told> {
    const { ledger, story, clock } = this.#world;
    const sentMs = clock.monotonicMs();
    const named = planned === null ? [...this.#answered] : [];
    const request = ledger.asked({ rollout: this.#plan, planned, call, conflicting, named, sentMs });
    const told = await post(this.#world, call, ask);
    ledger.told(request, told, clock.monotonicMs());
    story.tell(this.#plan.name, `${call}${conflicting ? ' with other arguments' : ''}: ${wordsFor(told)}`);
    return told;
  }

  #think(wave: number): Promise<void> {
    return this.#world.clock.sleep(this.#plan.thinkMs[wave] ?? 0);
  }

  async #withRetries(_what: string, send: (attempt: number) => Promise<Told>): Promise<Told> {
    for (let attempt = 0; ; attempt += 1) {
      const told = await send(attempt);
      if (told.kind === 'answer' || told.kind === 'score' || attempt === retries) return told;
      if (told.kind === 'lost' && this.#plan.vanishes) return told;
      await this.#world.clock.sleep(this.#world.chance.between(200, 2_000));
    }
  }

  get #caller() {
    return { face: 'rft', tenant: tenantId('lab'), run: runId(this.#plan.run) } as const;
  }

  get #named() {
    return {
      rollout: { rollout: rolloutId(this.#plan.name), attempt: null },
      open: {
        environment: { name: this.#plan.environment, version: null },
        item: { id: this.#plan.item, answer: 'yes' },
      },
    };
  }
}

const isFinal = (told: Told) => told.kind === 'failure' && failureRow(told.code).taints;

export function wordsFor(told: Told): string {
  switch (told.kind) {
    case 'answer':
      return `200 ${JSON.stringify(told.output)}${told.replayed ? ' replayed' : ''}`;
    case 'score':
      return `200 score ${told.score}`;
    case 'failure':
      return `${told.status} ${told.code} (${told.message})`;
    case 'lost':
      return 'connection lost';
  }
}
