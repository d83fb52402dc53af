import { commandsAsSandboxd } from '#src/failure/codes.ts';
import type { Ending, GradeTurn, UserIsolation } from '#src/protocol/sandboxd/wire.ts';
import { Chance } from '../engine/chance.ts';
import { ownerKey } from '../invariants/owner-key.ts';
import { Daemon, type DaemonWorld } from '../sandbox/daemon.ts';
import type { MakeDaemon } from '../sandbox/sandboxes.ts';
import type { World } from '../world.ts';
import { isSetup } from '../trainer/plan.ts';
import { type Act, type Actor, type Deed, deedAt, planDeed, refusalFor, type Step } from './actor.ts';

/** Where an actor acts: it knows what each rollout's actor does, and does it when its step has come. */
export class Stage {
  readonly actor: Actor;
  readonly isolation: UserIsolation;
  readonly #deeds = new Map<string, Deed | null>();
  readonly #chance: Chance;
  /** The deed of all rollouts of the world; null: each has its own. */
  readonly #together: Deed | null;

  constructor(actor: Actor, seed: number, together: Step | null) {
    this.actor = actor;
    this.isolation = seed % 2 === 0 ? 'two-user' : 'single-user';
    this.#chance = new Chance(`seed ${seed}`).fork(actor);
    this.#together = together === null ? null : deedAt(together, actor, this.isolation, this.#chance);
  }

  /** What was done to this rollout so far; null: nothing. */
  deedOf(owner: string): Deed | null {
    const deed = this.#deeds.get(owner) ?? null;
    return deed === null || deed.times === 0 ? null : deed;
  }

  /** What happens at this step now. */
  next(owner: string, step: Step): Act | null {
    const deed = this.#deedFor(owner);
    if (deed === null || deed.step !== step || (deed.times > 0 && !deed.again)) return null;
    deed.times += 1;
    return deed.act;
  }

  #deedFor(owner: string): Deed | null {
    const planned = this.#deeds.get(owner);
    if (planned !== undefined) return planned;
    const deed =
      this.#together === null
        ? planDeed(this.actor, this.isolation, this.#chance.fork(owner))
        : { ...this.#together };
    this.#deeds.set(owner, deed);
    return deed;
  }
}

/** Sandboxes whose daemons are acted upon. */
export function actedDaemons(world: World, stage: Stage): MakeDaemon {
  return (daemonWorld, sandbox, boot) => new ActedDaemon(daemonWorld, sandbox, boot, world, stage);
}

/** Of a grader whose folder could not be made or filled. */
const notRun: Ending = { kind: 'not_started', errno: 'ECANCELED', message: 'the grader was not run' };

type Spoils = Extract<Act, { kind: 'spoils' }>;

class ActedDaemon extends Daemon {
  readonly #world: World;
  readonly #stage: Stage;
  readonly #spoiled = new Map<string, GradeTurn | null>();

  constructor(daemonWorld: DaemonWorld, sandbox: string, boot: string, world: World, stage: Stage) {
    super(daemonWorld, sandbox, boot);
    this.#world = world;
    this.#stage = stage;
  }

  override receive(...given: Parameters<Daemon['receive']>) {
    const [call, { action }] = given;
    if (action.kind === 'grade') this.#spoil(call);
    else if (!call.includes(' ') && this.#isActors(call)) this.#act('call');
    return super.receive(...given);
  }

  /** A grade that is asked for again is the same one. */
  #spoil(call: string): void {
    if (this.#spoiled.has(call)) return;
    const act = this.#act(this.binding.owner?.role === 'grader' ? 'grader' : 'grade');
    if (act !== null) this.#spoiled.set(call, act.grade);
  }

  protected override gradeOf(call: string, rollout: string | undefined) {
    const grade = this.#spoiled.get(call);
    if (grade === undefined) return super.gradeOf(call, rollout);
    if (grade?.kind === 'folder_failed') return { grade, ending: notRun };
    return grade === null ? {} : { grade };
  }

  override identity() {
    return { ...super.identity(), isolation: this.#stage.isolation };
  }

  /** Set-up is its trainer's: no policy acts in it, and its machine may fail. */
  #isActors(call: string): boolean {
    return this.#stage.actor === 'honest_fault' || !isSetup(call);
  }

  override leftBehind(turn: number) {
    this.#act('artifacts');
    return super.leftBehind(turn);
  }

  override attached(path: string) {
    this.#act('attachments');
    return super.attached(path);
  }

  /** Throws what sandboxd refuses; any other error breaks the connection. Returns what it says of a grade. */
  #act(step: Step): Spoils | null {
    const { owner } = this.binding;
    if (owner === null || this.#world.faults.over) return null;
    const key = ownerKey(owner.run, owner.rollout);
    if (this.#stage.actor === 'adversary' && !this.#hasRun(key)) return null;
    const act = this.#stage.next(key, step);
    if (act === null) return null;
    this.#note(owner.rollout, step, act);
    if (act.kind === 'spoils') return act;
    // A refusal of a policy's own making is no answer, so the call may have been delivered.
    if (act.kind === 'refuses') this.#world.truth.doubted.add(this.sandbox);
    if (act.kind === 'refuses') throw refusalFor(act);
    if (act.kind === 'ends') this.#end(key, step, act);
    else this.#fallSilent(act.forMs);
    throw new Error('the connection breaks');
  }

  /** A policy acts by what it runs. A grader's sandbox has files of a policy that ran. */
  #hasRun(owner: string): boolean {
    const ran = this.#world.truth.executionsOf(owner);
    return ran.some(({ call }) => !call.includes(' ') && !isSetup(call));
  }

  #note(rollout: string, step: Step, act: Act): void {
    const says = `${this.#stage.actor} at ${step}: ${JSON.stringify(act)}`;
    this.#world.faults.note(this.#stage.actor, says, { part: this.sandbox });
    // Graders have two sandboxes, so one that is held up may hold up other rollouts.
    this.#world.faults.note(this.#stage.actor, says, step === 'grader' ? 'anybody' : { part: rollout });
  }

  #end(owner: string, step: Step, { cause, signal }: Extract<Act, { kind: 'ends' }>): void {
    const { isolation } = this.#stage;
    if ((cause === 'out_of_memory' || signal === 'SIGKILL') && step !== 'grader')
      this.#world.truth.broken.add(owner);
    const ofSandboxd = isolation === 'two-user' ? {} : commandsAsSandboxd;
    this.#world.engine.end(this.sandbox, cause, { signal: signal ?? null, ...ofSandboxd });
  }

  #fallSilent(forMs: number): void {
    const box = this.#world.sandboxes.find(this.sandbox);
    if (box !== undefined) box.stalledUntilMs = this.#world.scheduler.nowMs + forMs;
  }
}
