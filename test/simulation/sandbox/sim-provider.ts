import { failsEverywhere, type LossCause } from '#src/failure/codes.ts';
import { type Evidence, Failure } from '#src/failure/failure.ts';
import { sandboxId, type SandboxId, type TemplateDigest } from '#src/model/ids.ts';
import { type Owner, sandboxAddress } from '#src/model/rollout.ts';
import type { CreateRequest, ProvidedSandbox, SandboxProvider } from '#src/ports/sandbox-provider.ts';
import { type SimProcess, worldBeganMs } from '../engine/process.ts';
import { Watches } from './watches.ts';
import type { WireWorld } from './wire.ts';

type Machine = {
  readonly sandbox: SandboxId;
  readonly template: TemplateDigest;
  readonly createdAtMs: number;
  running: boolean;
  owner: Owner | null;
  expiresAtMs: number | null;
};

/** The engine that makes machines: idempotent, late, forgetful of events until it lists again, and at times away. */
export class Engine {
  readonly #world: WireWorld;
  readonly #machines = new Map<SandboxId, Machine>();
  readonly #watches: Watches;
  /** A name is used once: what has ended is not started again by a create that comes late. */
  readonly #ended = new Set<SandboxId>();
  #refusal: { readonly untilMs: number; readonly isForGood: boolean } | null = null;
  /** When it refused to make a sandbox for a reason that holds for every other one. */
  readonly refusedForGoodMs: number[] = [];

  constructor(world: WireWorld) {
    this.#world = world;
    this.#watches = new Watches(world, () => this.#list());
  }

  /** Machines that exist. */
  get sandboxes(): readonly string[] {
    return [...this.#machines.keys()];
  }

  #remove(sandbox: SandboxId): void {
    const daemon = this.#world.sandboxes.find(sandbox)?.daemon;
    const life = daemon?.alive === true ? this.#world.truth.lifeOf(sandbox, daemon.boot) : undefined;
    if (life !== undefined) life.removed = true;
    this.end(sandbox, 'deleted');
  }

  /** A machine ends by something else than our wish. */
  end(sandbox: string, cause: LossCause, evidence: Evidence = {}): void {
    const id = sandboxId(sandbox);
    this.#ended.add(id);
    if (!this.#machines.delete(id)) return;
    this.#world.story.tell(sandbox, `gone: ${cause}`);
    this.#world.sandboxes.remove(sandbox);
    this.#watches.tell({ kind: 'gone', sandbox: id, cause, evidence });
  }

  /** Whoever watches hears nothing until then, and first what is true now. */
  fallBehind(untilMs: number): void {
    this.#watches.fallBehind(untilMs);
  }

  /** Makes no sandbox until then. `isForGood`: for a reason that holds for every sandbox, such as a folder that is missing. */
  refuse(untilMs: number, isForGood: boolean): void {
    this.#refusal = { untilMs, isForGood };
  }

  providerFor(process: SimProcess): SandboxProvider {
    return {
      create: (request) => this.#ask(process, 'create', request.sandbox, () => this.#create(request)),
      destroy: (sandbox) => this.#ask(process, 'destroy', sandbox, () => this.#remove(sandbox)),
      list: () => this.#ask(process, 'list', null, () => this.#list()),
      label: (sandbox, owner, expiresAtMs) =>
        this.#ask(process, 'label', sandbox, () => {
          const machine = this.#machines.get(sandbox);
          if (machine !== undefined) Object.assign(machine, { owner, expiresAtMs });
        }),
      watch: (tell, signal) => this.#watches.begin(process, tell, signal),
      limitations: async () => [],
    };
  }

  /** One request to the engine and back; it may be away, and its answer may be lost after it acted. */
  #ask<Answer>(
    process: SimProcess,
    what: string,
    sandbox: SandboxId | null,
    act: () => Answer,
  ): Promise<Answer> {
    const { scheduler, faults, chance } = this.#world;
    return new Promise<Answer>((resolve, reject) => {
      if (!process.alive) return;
      const creating = what === 'create';
      scheduler.after(chance.between(1, 20), process.name, what, () => {
        if (faults.strikes('provider_away', 'anybody', process.name)) return reject(away());
        if (creating && faults.strikes('create_hangs', 'anybody', sandbox ?? '')) return;
        if (creating && faults.strikes('create_fails', 'anybody', sandbox ?? '')) {
          return reject(new Failure('start_failed', 'the engine refused'));
        }
        const refused = creating ? this.#refused() : null;
        if (refused !== null) return reject(refused);
        if (creating && sandbox !== null && this.#ended.has(sandbox))
          return reject(new Failure('start_failed', 'it has ended already'));
        const answer = act();
        if (creating && faults.strikes('create_unanswered', 'anybody', sandbox ?? '')) return reject(away());
        process.hears(() => resolve(answer));
      });
    });
  }

  #refused(): Failure | null {
    const { scheduler, faults } = this.#world;
    if (this.#refusal === null || faults.over || scheduler.nowMs > this.#refusal.untilMs) return null;
    if (!this.#refusal.isForGood) return new Failure('start_failed', 'its machine refuses it');
    this.refusedForGoodMs.push(scheduler.nowMs);
    return new Failure('start_failed', 'its folder is missing', { evidence: failsEverywhere });
  }

  #create({ sandbox, template }: CreateRequest): void {
    if (this.#machines.has(sandbox)) return;
    const { scheduler, chance } = this.#world;
    const createdAtMs = worldBeganMs + scheduler.nowMs;
    const machine = {
      sandbox,
      template: template.digest,
      createdAtMs,
      running: false,
      owner: null,
      expiresAtMs: null,
    };
    this.#machines.set(sandbox, machine);
    this.#world.story.tell(sandbox, 'created');
    scheduler.after(chance.between(150, 1_500), sandbox, 'starts', () => this.#run(machine));
  }

  #run(machine: Machine): void {
    const { sandbox } = machine;
    const { scheduler, faults, sandboxes } = this.#world;
    if (this.#machines.get(sandbox) !== machine) return;
    machine.running = true;
    this.#world.story.tell(sandbox, 'runs');
    const box = sandboxes.start(sandbox);
    // sandboxd ends itself at its expiry, and a machine whose first process has ended is over.
    box.daemon.onEnd(() => this.#endOfDaemon(sandbox, box.daemon.boot));
    if (faults.strikes('create_silent', 'anybody', sandbox)) box.stalledUntilMs = Number.POSITIVE_INFINITY;
    if (faults.strikes('create_dies', 'anybody', sandbox)) {
      scheduler.after(100, sandbox, 'dies early', () => this.end(sandbox, 'sandbox_exited'));
    }
    this.#watches.tell({ kind: 'running', sandbox, address: addressOf(sandbox) });
  }

  #endOfDaemon(sandbox: SandboxId, boot: string): void {
    const box = this.#world.sandboxes.find(sandbox);
    if (box !== undefined && box.daemon.boot === boot) {
      this.#world.scheduler.after(1, sandbox, 'exits', () => {
        if (this.#world.sandboxes.find(sandbox)?.daemon.boot === boot) this.end(sandbox, 'sandbox_exited');
      });
    }
  }

  #list(): readonly ProvidedSandbox[] {
    return [...this.#machines.values()].map(provided);
  }
}

const away = () => new Failure('provider_unavailable', 'the engine does not answer');
const addressOf = (sandbox: SandboxId) => sandboxAddress(`unix:/simulated/${sandbox}`);

function provided({ running, sandbox, template, createdAtMs, owner, expiresAtMs }: Machine): ProvidedSandbox {
  const address = running ? addressOf(sandbox) : null;
  const phase = running ? 'running' : 'starting';
  return { sandbox, template, phase, address, createdAtMs, owner, expiresAtMs };
}
