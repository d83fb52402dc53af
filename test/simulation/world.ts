import type { Environment } from '#src/model/environment.ts';
import { environmentsFor } from './environment.ts';
import type { ControllerPorts } from '#services/controller/ports.ts';
import type { GatewayCore } from '#services/gateway/core-interface.ts';
import type { GatewayWorld } from '#services/gateway/core-wiring.ts';
import type { Post } from '#src/adapters/judge-http/ask-once.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { CallStore } from '#src/ports/fleet/calls.ts';
import type { DependencyStore } from '#src/ports/fleet/dependencies.ts';
import type { GradeStore } from '#src/ports/fleet/grades.ts';
import type { SandboxLink } from '#src/ports/sandbox-link.ts';
import type { Actor, Step } from './actors/actor.ts';
import { actedDaemons, Stage } from './actors/stage.ts';
import { Chance } from './engine/chance.ts';
import { Faults } from './engine/faults.ts';
import { SimProcess } from './engine/process.ts';
import { Scheduler } from './engine/scheduler.ts';
import { Story } from './engine/story.ts';
import { Mailbox } from './fleet/mailbox.ts';
import { processFleet } from './fleet/process-fleet.ts';
import type { PatchScripts, RealScripts } from './fleet/real-scripts.ts';
import { type RedisHost, redisLine } from './fleet/redis-line.ts';
import { LaunchJobs } from './fleet/launch-jobs.ts';
import { controllerPorts, runController } from './processes/controllers.ts';
import { type Gateway, gatewayWorld, startGateway } from './processes/gateways.ts';
import { Backend, type RecordedProbe } from './processes/backend.ts';
import { judgePost } from './processes/judge.ts';
import { type MakeDaemon, Sandboxes } from './sandbox/sandboxes.ts';
import { simLink } from './sandbox/sim-link.ts';
import { Engine } from './sandbox/sim-provider.ts';
import { Truth } from './sandbox/truth.ts';
import { Ledger } from './trainer/ledger.ts';
import {
  environmentsOfActors,
  type PlannedRollout,
  planRollouts,
  usualEnvironments,
} from './trainer/plan.ts';
import type { TrainerWorld } from './trainer/session.ts';
import { train } from './trainer/trainer.ts';

/** A mistake that test code puts into one world, to see that it is found. */
export type Planted = {
  /** In whose worlds it shows. */
  readonly actor?: Actor;
  /** In worlds of these environments; default: the usual ones. */
  readonly environments?: readonly string[];
  readonly patchScripts?: PatchScripts;
  readonly makeDaemon?: MakeDaemon;
  readonly gateway?: (ports: GatewayWorld, world: World) => GatewayWorld;
  readonly controller?: (ports: ControllerPorts, world: World) => ControllerPorts;
  readonly link?: (link: SandboxLink, world: World) => SandboxLink;
  readonly judge?: (post: Post) => Post;
  readonly core?: (core: GatewayCore) => GatewayCore;
};

const triesOf = (key: string, call: string) => `${key} ${call}`;

/** Some worlds have every trouble, some a few, and every fifth only those of every day. */
function shareOfTroubles(seed: number): number {
  return [0, 0.5, 1, 0.2, 0.8][seed % 5] ?? 1;
}

const isGuarded = ({ environment }: PlannedRollout): boolean => environment === 'guarded';

/** When it was written, on the world's own clock. */
export type VerdictEvent = Pick<
  Extract<FleetEvent, { kind: 'verdict' }>,
  'key' | 'verdict' | 'score' | 'atMs'
>;

export type WorldOptions = {
  readonly seed: number;
  /** The only one that does anything there; null: faults of all kinds. */
  readonly actor: Actor | null;
  /** A step at which the actor does the same to all rollouts; null: to each its own, at any step. */
  readonly together: Step | null;
  readonly rollouts: number;
  /** Null: the usual ones. */
  readonly environments: readonly string[] | null;
  readonly scripts: RealScripts;
  readonly planted: Planted;
};

/** Everything there is: the production processes, and simulated machines, networks and trainers around them. */
export class World {
  readonly seed: number;
  readonly planned: readonly PlannedRollout[];
  readonly environments: readonly Environment[];
  readonly scheduler = new Scheduler();
  readonly story: Story;
  readonly truth = new Truth();
  readonly ledger = new Ledger();
  readonly faults: Faults;
  /** Null in a world without an actor. */
  readonly stage: Stage | null;
  readonly backend: Backend;
  readonly sandboxes: Sandboxes;
  readonly engine: Engine;
  readonly redis: RedisHost;
  readonly queue: LaunchJobs;
  /** Who asked for a turn of a grader, by the name that it asked under, and whether it has heard that it has one. */
  readonly turns = new Map<string, { readonly asker: SimProcess; readonly heard: boolean }>();
  /** Calls that were withdrawn while another try was to send them. */
  readonly withdrawnTooEarly: string[] = [];
  /** Verdicts in the event logs of all processes. */
  readonly verdicts: VerdictEvent[] = [];
  /** Errors that a gateway or a controller noted and nobody was told of. */
  readonly troubles: unknown[] = [];
  /** Told of every policy that begins to think of its last words. */
  lastThought: (plan: PlannedRollout) => void = () => undefined;
  /** Told of every call of set-up that was answered. */
  setUp: (plan: PlannedRollout) => void = () => undefined;
  /** Asked at every call of a trainer: after which time another gateway gets it, too. */
  sentTwice: (plan: PlannedRollout) => number | null = () => null;
  /** Told of every verdict as it is written into an event log. */
  verdictWritten: (event: VerdictEvent) => void = () => undefined;
  /** Told of every grader that begins in a sandbox of its own. */
  graderBegins: (sandbox: string) => void = () => undefined;
  /** What the judge did to whom; see `judgePost`. */
  readonly refused = new Set<string>();
  readonly misled = new Set<string>();
  readonly flattered = new Set<string>();
  readonly wrongCanaries = new Set<string>();
  readonly #chance: Chance;
  readonly #planted: Planted;
  /** Of each call, the gateways that may send it. */
  readonly #tries = new Map<string, Set<string>>();
  #gateways: Gateway[] = [];
  #controllers: SimProcess[] = [];
  #started = 0;

  constructor({ seed, actor, together, rollouts, environments: asked, scripts, planted }: WorldOptions) {
    this.seed = seed;
    this.#planted = planted;
    this.#chance = new Chance(`seed ${seed}`);
    this.stage = actor === null ? null : new Stage(actor, seed, together);
    const environments = asked ?? (actor === null ? usualEnvironments : environmentsOfActors);
    this.environments = environmentsFor(environments);
    this.planned = planRollouts(this.#chance.fork('plan'), rollouts, environments);
    this.story = new Story(this.scheduler);
    const share = actor === null ? shareOfTroubles(seed) : 0;
    this.faults = new Faults(this.#chance.fork('faults'), this.story, share);
    this.backend = new Backend(this.scheduler, this.faults, this.#chance.fork('backend'));
    const makeDaemon = this.stage === null ? planted.makeDaemon : actedDaemons(this, this.stage);
    this.sandboxes = new Sandboxes(this, makeDaemon);
    this.engine = new Engine(this.#wireWorld('engine'));
    const mailbox = new Mailbox(this.scheduler, this.faults, this.#chance.fork('mailbox'));
    this.redis = {
      scripts,
      scheduler: this.scheduler,
      faults: this.faults,
      chance: this.#chance.fork('redis'),
      mailbox,
      downUntilMs: 0,
      outages: [],
      run: 'redis-1',
      replacedMs: [],
      adoptedMs: 0,
      missedFromMs: [],
      staleReplicas: 0,
      afterScript: () => undefined,
      replicaWaits: [],
      kept: null,
      unsure: new Set(),
    };
    this.queue = new LaunchJobs(this.redis);
  }

  async begin(): Promise<void> {
    await this.redis.scripts.begin(this.#planted.patchScripts);
    for (let index = 0; index < this.#chance.pick([1, 1, 2]); index += 1) this.startController();
    for (let index = 0; index < this.#chance.pick([1, 2, 2]); index += 1) this.startGateway();
    for (const plan of this.planned) void train(this.#trainerWorld(plan), plan);
  }

  /** The engine knows whose limit was hit: the sandbox's own. */
  exhausted(sandbox: string): void {
    this.engine.end(sandbox, 'out_of_memory');
  }

  get gateways(): readonly Gateway[] {
    return this.#gateways;
  }

  get controllers(): readonly SimProcess[] {
    return this.#controllers;
  }

  /** Whether the platform has got an ending for every rollout. */
  get allEnded(): boolean {
    return this.ledger.endings.size === this.planned.length;
  }

  startGateway(): void {
    const process = this.#process('gateway', 1);
    const parts = {
      process,
      fleet: processFleet(redisLine(this.redis, process), this.redis.mailbox.messagesFor(process)),
      environments: this.environments,
      link: this.#link(process),
      post: this.#judge(process),
      probe: this.backend.probeFrom(process, this.#chance.fork(`probes of ${process.name}`)),
      chance: this.#chance.fork(process.name),
      record: this.#record,
      onTrouble: (thrown: unknown) => void this.troubles.push(thrown),
    };
    const ports = {
      ...gatewayWorld(parts),
      grades: this.#watchTurns(parts.fleet.grades, process),
      calls: this.#watchTries(parts.fleet.calls, process),
      dependencies: this.#watchProbes(parts.fleet.dependencies),
    };
    const { core } = startGateway(process, this.#planted.gateway?.(ports, this) ?? ports);
    const gateway = { process, core: this.#planted.core?.(core) ?? core };
    this.#gateways.push(gateway);
    process.onDeath(() => (this.#gateways = this.#gateways.filter((one) => one !== gateway)));
  }

  startController(): void {
    // One look a second costs most of a run's time and finds little: here controllers are slow, as on a busy machine.
    const process = this.#process('controller', this.#chance.pick([2, 4]));
    const ports = controllerPorts({
      process,
      fleet: processFleet(redisLine(this.redis, process), this.redis.mailbox.messagesFor(process)),
      link: this.#link(process),
      provider: this.engine.providerFor(process),
      queue: this.queue.queueFor(process),
      chance: this.#chance.fork(process.name),
      record: this.#record,
    });
    runController(this.#planted.controller?.(ports, this) ?? ports, this.environments);
    this.#controllers.push(process);
    process.onDeath(() => (this.#controllers = this.#controllers.filter((one) => one !== process)));
  }

  #trainerWorld({ name }: PlannedRollout): TrainerWorld {
    const { scheduler, faults, ledger, story, redis } = this;
    const { clock } = new SimProcess('platform', scheduler);
    const chance = this.#chance.fork(`platform ${name}`);
    return {
      scheduler,
      faults,
      ledger,
      story,
      clock,
      chance,
      gateways: () => this.gateways,
      forgotten: () => redis.replacedMs.length > 0,
      lastThought: (plan) => this.lastThought(plan),
      setUp: (plan) => this.setUp(plan),
      sentTwice: (plan) => this.sentTwice(plan),
    };
  }

  readonly #record = (event: FleetEvent): void => {
    if (event.kind !== 'verdict') return;
    this.verdicts.push({
      key: event.key,
      verdict: event.verdict,
      score: event.score,
      atMs: this.scheduler.nowMs,
    });
    this.verdictWritten(this.verdicts.at(-1) as VerdictEvent);
  };

  #process(kind: 'gateway' | 'controller', lateness: number): SimProcess {
    this.#started += 1;
    return new SimProcess(`${kind}-${this.#started}`, this.scheduler, lateness);
  }

  #watchProbes(dependencies: DependencyStore): DependencyStore {
    const begun = new Map<number, number>();
    const takeTurn: DependencyStore['takeTurn'] = async (probed) => {
      const turn = await dependencies.takeTurn(probed);
      begun.set(turn.nowMs, this.scheduler.nowMs);
      return turn;
    };
    const record: DependencyStore['record'] = async (probed, beganAtMs, failed) => {
      const beganMs = begun.get(beganAtMs) ?? this.scheduler.nowMs;
      const probe: RecordedProbe = { beganMs, recordedMs: null, failed: failed !== null };
      // Redis may have it, and others may have acted on it, long before its reply arrives.
      this.backend.recorded.push(probe);
      await dependencies.record(probed, beganAtMs, failed);
      probe.recordedMs = this.scheduler.nowMs;
    };
    return { ...dependencies, takeTurn, record };
  }

  #watchTries(calls: CallStore, { name }: SimProcess): CallStore {
    const admit: CallStore['admit'] = async (asked) => {
      const reply = await calls.admit(asked);
      const tries = this.#tries.get(triesOf(asked.key, asked.call)) ?? new Set();
      if (reply.kind === 'dispatch') this.#tries.set(triesOf(asked.key, asked.call), tries.add(name));
      return reply;
    };
    const unsent: CallStore['unsent'] = async (key, call, ...asked) => {
      const tries = this.#tries.get(triesOf(key, call));
      tries?.delete(name);
      await calls.unsent(key, call, ...asked);
      const row = this.redis.scripts.state.rollouts.get(key);
      if (tries?.size && row?.state === 'active' && !row.calls.has(call))
        this.withdrawnTooEarly.push(`${call} of ${key}, which ${[...tries].join(', ')} may send`);
    };
    return { ...calls, admit, unsent };
  }

  #watchTurns(grades: GradeStore, asker: SimProcess): GradeStore {
    const begin: GradeStore['begin'] = async (key, ask) => {
      this.turns.set(ask.by, this.turns.get(ask.by) ?? { asker, heard: false });
      const begun = await grades.begin(key, ask);
      if (begun.kind === 'run') this.turns.set(ask.by, { asker, heard: true });
      return begun;
    };
    return { ...grades, begin };
  }

  #link(process: SimProcess): SandboxLink {
    const link = simLink(this.#wireWorld(process.name), process);
    return this.#planted.link?.(link, this) ?? link;
  }

  #judge(process: SimProcess): Post {
    const { scheduler, faults, refused, misled, flattered, wrongCanaries } = this;
    const post = judgePost({
      flattered,
      wrongCanaries,
      isPlayed: this.stage?.actor === 'adversary' && this.planned.some(isGuarded),
      scheduler,
      faults,
      refused,
      misled,
      chance: this.#chance.fork(`judge of ${process.name}`),
    });
    return this.#planted.judge?.(post) ?? post;
  }

  #wireWorld(name: string) {
    const { scheduler, faults, sandboxes, story, truth } = this;
    return { scheduler, faults, sandboxes, story, truth, chance: this.#chance.fork(`wire ${name}`) };
  }
}
