import type { Dependency } from '../model/dependency.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { Clock } from '../ports/clock.ts';
import type { ProbeDependency } from '../ports/dependency-probe.ts';
import type { DependencyStore } from '../ports/fleet/dependencies.ts';

export type ProbingDeps = {
  readonly dependencies: Pick<DependencyStore, 'count' | 'takeTurn' | 'record'>;
  readonly probe: ProbeDependency;
  readonly clock: Clock;
  /** Trouble that no request is told of: a probe that could not be made is evidence of nothing. */
  readonly onTrouble: (error: unknown) => void;
};

/**
 * Probes backends while calls that may report their failure are under way in this process, in turns with the other gateways: each
 * interval one of them probes, and all read the result. Without such calls there is nothing to judge, so nothing is probed; a backend
 * that is long gone costs nothing, and a version of an environment that only one run still uses is probed for that run.
 */
export class DependencyProbes {
  readonly #deps: ProbingDeps;
  /** By interval and address: how many calls need it, and what ends the pause when none does any more. */
  readonly #probing = new Map<string, { calls: number; readonly idle: AbortController }>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: ProbingDeps) {
    this.#deps = deps;
  }

  /** `counted`: the call was sent from here, and is one of its run. */
  async during<Result>(
    dependency: Dependency,
    call: { readonly rollout: RolloutKey; readonly counted: boolean },
    work: () => Promise<Result>,
  ): Promise<Result> {
    const release = this.#hold(dependency);
    if (call.counted) this.#inBackground(this.#deps.dependencies.count(dependency, call.rollout));
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Resolves when nothing is probed or counted any more, which needs all calls to have ended. */
  async close(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #hold(dependency: Dependency): () => void {
    const name = `${dependency.everyMs} ${dependency.probe}`;
    const probing = this.#probing.get(name) ?? { calls: 0, idle: new AbortController() };
    probing.calls += 1;
    if (!this.#probing.has(name)) {
      this.#probing.set(name, probing);
      this.#inBackground(this.#probeUntil(dependency, probing.idle.signal));
    }
    return () => {
      probing.calls -= 1;
      if (probing.calls > 0) return;
      this.#probing.delete(name);
      probing.idle.abort('idle');
    };
  }

  #inBackground(work: Promise<void>): void {
    const running = work.catch(this.#deps.onTrouble).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #probeUntil(dependency: Dependency, idle: AbortSignal): Promise<void> {
    while (!idle.aborted) {
      const pauseMs = await this.#takeTurn(dependency).catch((thrown: unknown) => {
        this.#deps.onTrouble(thrown);
        return dependency.everyMs;
      });
      await this.#deps.clock.sleep(pauseMs, idle);
    }
  }

  /** Returns until when the next turn is nobody's. A probe that takes longer than an interval delays only this process. */
  async #takeTurn(dependency: Dependency): Promise<number> {
    const { dependencies, probe, clock } = this.#deps;
    const { isMine, nowMs, nextInMs } = await dependencies.takeTurn(dependency);
    if (!isMine) return nextInMs;
    const beganMs = clock.monotonicMs();
    await dependencies.record(dependency, nowMs, await probe(dependency.probe));
    return Math.max(0, nextInMs - (clock.monotonicMs() - beganMs));
  }
}
