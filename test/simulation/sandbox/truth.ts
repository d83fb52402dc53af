import type { Ending } from '#src/protocol/sandboxd/wire.ts';

/** One start of a command in a sandbox. */
export type Execution = {
  readonly owner: string;
  readonly call: string;
  readonly sandbox: string;
  readonly boot: string;
  readonly tool: string;
  readonly token: string;
  readonly timeoutMs: number;
  readonly startedMs: number;
  ending: Ending | null;
  endedMs: number | null;
  /** It took its sandbox down. */
  broke: boolean;
  /** The machine had no memory left and killed it: what it then ended with is nobody's doing. */
  struck: boolean;
};

/** A file that was written into a life from outside. */
export type Upload = Pick<Execution, 'sandbox' | 'boot'> & {
  readonly path: string;
  readonly text: string;
  readonly atMs: number;
};

export type Life = {
  readonly sandbox: string;
  readonly boot: string;
  /** Every owner whom the daemon of this life accepted. */
  readonly owners: Set<string>;
  endedMs: number | null;
  /** It lasted until the fleet had its sandbox removed. */
  removed: boolean;
};

/** A turn of a grader in this life that was told the rollout. */
export type TellsRollout = Pick<Execution, 'owner' | 'sandbox' | 'boot'> & {
  /** As the file has it. */
  readonly rollout: string;
  readonly atMs: number;
};

/** What really happened inside the sandboxes, whatever anybody was told. */
export class Truth {
  readonly executions: Execution[] = [];
  readonly lives: Life[] = [];
  readonly tellings: TellsRollout[] = [];
  readonly uploads: Upload[] = [];
  /** Rollouts whose policy used up its sandbox's memory beside its calls. */
  readonly broken = new Set<string>();
  /** Sandboxes of which somebody, after a call was sent, could not know whether it had arrived. */
  readonly doubted = new Set<string>();
  /** By sandbox, the calls whose latest answer there was that they still run. */
  readonly #running = new Map<string, Set<string>>();
  /** Raised by every change, so that invariants look only when there is something new. */
  changes = 0;

  answered(sandbox: string, call: string, isRunning: boolean): void {
    const running = this.#running.get(sandbox) ?? new Set();
    this.#running.set(sandbox, running);
    if (isRunning) running.add(call);
    else running.delete(call);
  }

  /** Whether a call may have run in it whose end no gateway has heard. */
  mayHaveRun(sandbox: string): boolean {
    return this.doubted.has(sandbox) || (this.#running.get(sandbox)?.size ?? 0) > 0;
  }

  born(sandbox: string, boot: string): Life {
    const life: Life = { sandbox, boot, owners: new Set(), endedMs: null, removed: false };
    this.lives.push(life);
    this.changes += 1;
    return life;
  }

  bound(life: Life, owner: string): void {
    if (!life.owners.has(owner)) this.changes += 1;
    life.owners.add(owner);
  }

  ended(life: Life, atMs: number): void {
    life.endedMs ??= atMs;
    this.changes += 1;
  }

  started(execution: Execution): void {
    this.executions.push(execution);
    this.changes += 1;
  }

  told(telling: TellsRollout): void {
    this.tellings.push(telling);
    this.changes += 1;
  }

  /** Whether a command of this rollout has taken its sandbox down. */
  brokenBy(owner: string): boolean {
    return this.broken.has(owner) || this.executions.some((one) => one.owner === owner && one.broke);
  }

  executionsOf(owner: string): readonly Execution[] {
    return this.executions.filter((one) => one.owner === owner);
  }

  lifeOf(sandbox: string, boot: string): Life | undefined {
    return this.lives.find((life) => life.sandbox === sandbox && life.boot === boot);
  }
}
