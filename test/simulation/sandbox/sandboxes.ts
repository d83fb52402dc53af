import { Daemon, type DaemonWorld } from './daemon.ts';

export type MakeDaemon = (world: DaemonWorld, sandbox: string, boot: string) => Daemon;

/**
 * A machine and the daemon that lives in it. `stalled`: stopped or starved, so that nothing is answered for now. `cutOff`: it
 * runs, and takes no connection.
 */
export type Box = {
  readonly sandbox: string;
  daemon: Daemon;
  stalledUntilMs: number;
  cutOffUntilMs: number;
};

/** The machines that run now. */
export class Sandboxes {
  readonly #world: DaemonWorld;
  readonly #makeDaemon: MakeDaemon;
  readonly #boxes = new Map<string, Box>();
  #boots = 0;

  constructor(world: DaemonWorld, makeDaemon: MakeDaemon = (...given) => new Daemon(...given)) {
    this.#world = world;
    this.#makeDaemon = makeDaemon;
  }

  /** A machine's first life. */
  start(sandbox: string): Box {
    const box = { sandbox, daemon: this.#boot(sandbox), stalledUntilMs: 0, cutOffUntilMs: 0 };
    this.#boxes.set(sandbox, box);
    return box;
  }

  find(sandbox: string): Box | undefined {
    return this.#boxes.get(sandbox);
  }

  all(): readonly Box[] {
    return [...this.#boxes.values()];
  }

  /** The machine is gone with all that ran. */
  remove(sandbox: string): void {
    this.#boxes.get(sandbox)?.daemon.end();
    this.#boxes.delete(sandbox);
  }

  /** Another life at the same address: it knows nothing of the one before. */
  reboot(box: Box): void {
    box.daemon.end();
    box.daemon = this.#boot(box.sandbox);
  }

  #boot(sandbox: string): Daemon {
    this.#boots += 1;
    return this.#makeDaemon(this.#world, sandbox, `boot-${this.#boots}`);
  }
}
