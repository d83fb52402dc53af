import { callId, rolloutId } from '#src/model/ids.ts';
import { failureRow } from '#src/failure/codes.ts';
import { requestMs } from '../environment.ts';
import { commandText } from '../sandbox/command.ts';
import { answerOf, TrainerSession, type TrainerWorld } from './session.ts';
import type { Ending, Told } from './ledger.ts';
import { driveNative } from './native.ts';
import type { PlannedCall, PlannedRollout } from './plan.ts';
import { wordsFor, wordsForEnding } from './words.ts';

/** One rollout from its start to what its trainer makes of it. */
export async function train(world: TrainerWorld, plan: PlannedRollout): Promise<void> {
  const session = new TrainerSession(world, plan);
  await world.clock.sleep(plan.startMs);
  const ending = await (plan.face === 'native' ? driveNative(session) : new Platform(session).drive());
  world.ledger.ended(plan.name, ending);
  world.story.tell(plan.name, wordsForEnding(ending));
}

/** What we know of nobody: whether a retry carries the same call id. Mostly it does. */
const sameIdShare = 0.85;
/**
 * A platform that goes on to its grader although a call failed for good: the veto must hold then as well, unless Redis
 * has forgotten it. Then only a platform that keeps its own promise, and discards, keeps such a rollout from a score.
 */
const gradesAnyway = 0.5;
/** A wrong repeat: the same id with other arguments, to see that it is refused. */
const conflictShare = 0.05;
/** The same call twice at once, at whichever gateways: a proxy's repeat. */
const twinShare = 0.06;

/** One rollout as a reinforcement-fine-tuning platform drives it: calls in waves, retries, then the grader. */
class Platform {
  readonly #session: TrainerSession;
  /** Ids of calls that were answered, as the platform would name them to the grader. */
  readonly #answered: string[] = [];

  constructor(session: TrainerSession) {
    this.#session = session;
  }

  async drive(): Promise<Ending> {
    const { world, plan } = this.#session;
    for (const [index, wave] of plan.waves.entries()) {
      await this.#think(index);
      const told = await Promise.all(wave.map((planned) => this.#call(planned)));
      const failed = told.find((one) => one.kind !== 'answer');
      if (failed === undefined) {
        await this.#askAgain(plan.waves.slice(0, index + 1).flat());
        continue;
      }
      if (isFinal(failed) && world.chance.happens(gradesAnyway) && !world.forgotten()) break;
      return { kind: 'discarded', why: wordsFor(failed) };
    }
    world.lastThought(plan);
    await this.#think(plan.waves.length);
    await this.#session.gradeLate();
    const told = await this.#session.withRetries(() => this.#grade());
    return told.kind === 'score'
      ? { kind: 'scored', score: told.score }
      : { kind: 'discarded', why: wordsFor(told) };
  }

  async #call(planned: PlannedCall): Promise<Told> {
    const { chance } = this.#session.world;
    let id = planned.call;
    const told = await this.#session.withRetries(async (attempt) => {
      if (attempt > 0 && !chance.happens(sameIdShare)) id = `${planned.call}-again${attempt}`;
      return chance.happens(twinShare) ? this.#sendTwins(planned, id) : this.#send(planned, id, false);
    });
    if (told.kind === 'answer') this.#answered.push(id);
    if (told.kind === 'answer' && chance.happens(conflictShare)) await this.#send(planned, id, true);
    return told;
  }

  /** Its own network may lose an answer that it had. */
  async #askAgain(planned: readonly PlannedCall[]): Promise<void> {
    const again = this.#session.pickAgain(planned);
    if (again !== null && this.#answered.includes(again.planned.call))
      await this.#send(again.planned, again.planned.call, false);
  }

  /** One answer is enough. */
  async #sendTwins(planned: PlannedCall, id: string): Promise<Told> {
    const [one, other] = await Promise.all([this.#send(planned, id, false), this.#send(planned, id, false)]);
    return one.kind === 'answer' ? one : other;
  }

  #send(planned: PlannedCall, call: string, conflicting: boolean): Promise<Told> {
    const command = commandText(
      conflicting ? { ...planned.command, token: 'another command' } : planned.command,
    );
    const args =
      planned.kind === 'bad_arguments'
        ? badArguments(call, command, conflicting)
        : JSON.stringify({ command });
    return this.#session.ask('call', call, { planned, conflicting }, async (core) => {
      const result = await core.toolCall(this.#session.caller, {
        ...this.#named,
        call: callId(call),
        tool: planned.tool,
        namedBy: 'job',
        arguments: args,
        timeoutMs: null,
        waitMs: requestMs,
      });
      return answerOf(result);
    });
  }

  #grade(): Promise<Told> {
    const said = {
      output_text: this.#session.plan.right ? 'yes' : 'no',
      output_tools: this.#answered.map((id) => ({ id, type: 'function' })),
    };
    const sample = JSON.stringify(said);
    return this.#session.ask('grade', 'grade', { named: [...this.#answered] }, async (core) => {
      const { score } = await core.grade(this.#session.caller, { ...this.#named, sample, waitMs: requestMs });
      return { kind: 'score', score };
    });
  }

  #think(wave: number): Promise<void> {
    return this.#session.world.clock.sleep(this.#session.plan.thinkMs[wave] ?? 0);
  }

  get #named() {
    const { name, environment, item } = this.#session.plan;
    return {
      rollout: { rollout: rolloutId(name), attempt: null },
      open: { environment: { name: environment, version: null }, item: { id: item, answer: 'yes' } },
    };
  }
}

const isFinal = (told: Told) => told.kind === 'failure' && failureRow(told.code).taints;

/** What the model gets wrong differs by the call's id, so that no seed's story changes for it. */
function badArguments(call: string, command: string, conflicting: boolean): string {
  const wrong = JSON.stringify({ komand: command, conflicting });
  const rest = wrong.slice(1);
  const ways = [
    wrong,
    `{"n":1e999,${rest}`,
    `{"__proto__":{"constructor":1},${rest}`,
    `{"n":${'['.repeat(5_000)}${']'.repeat(5_000)},${rest}`,
    wrong.slice(0, -1),
  ];
  return ways[(call.codePointAt(call.length - 1) ?? 0) % ways.length] ?? wrong;
}
