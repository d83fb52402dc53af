import type { LossCause } from '../failure/codes.ts';
import { type Evidence, Failure } from '../failure/failure.ts';
import type { SandboxId } from '../model/ids.ts';
import type { SandboxAddress } from '../model/rollout.ts';
import type { ProviderEvent } from '../ports/sandbox-provider.ts';

/** How a sandbox ended, as the provider says. */
export type End = { readonly cause: LossCause; readonly evidence: Evidence };

/** It may be lost, and the provider cannot tell: then its end is this one if nobody answers at the address. */
export type Doubt = End & { readonly address: SandboxAddress; silentSinceMs: number | null };

/**
 * What the provider's watch has said so far of each sandbox: a controller's one memory of it. Starts wait in it for their
 * sandbox to run; whoever acts on an end, a doubt or a departure reads it there, and takes off what it has done.
 *
 *   starting ──▶ running ◀──▶ doubted ──▶ gone     an end is kept for whoever tells fleet state, however long that is away
 *      ├──▶ cannot start                           told to who waits, and to who asks later
 *      └──▶ leaving                                likewise of a start; of one that runs, for whoever takes it out of the pool
 *
 * An end that the watch missed shows in its next list: what ran and is not in it any more is gone, nobody knows how.
 */
export class SandboxAccount {
  readonly #running = new Map<SandboxId, SandboxAddress>();
  readonly #ends = new Map<SandboxId, End>();
  readonly #unable = new Map<SandboxId, Failure>();
  readonly #waiters = new Map<SandboxId, Set<Waiter>>();
  /** What is to be done: ends to be told, sandboxes to be dialled, and those to be taken out of the pool, with the reason. */
  readonly untold = new Map<SandboxId, End>();
  readonly doubts = new Map<SandboxId, Doubt>();
  readonly leaving = new Map<SandboxId, string>();

  /** Notes an event of the provider's watch; never waits. */
  apply(event: ProviderEvent): void {
    switch (event.kind) {
      case 'running':
        return this.#appeared(event.sandbox, event.address);
      case 'gone':
        return this.#ended(event.sandbox, { cause: event.cause, evidence: event.evidence });
      case 'listed':
        return this.#listed(event);
      case 'cannot_start':
        return this.#cannotStart(event.sandbox, unableToStart(event));
      case 'leaving':
        this.leaving.set(event.sandbox, event.why);
        if (!this.#running.has(event.sandbox)) this.#cannotStart(event.sandbox, startedInVain(event));
        return;
      case 'doubted': {
        const { sandbox, address, cause, evidence } = event;
        const { silentSinceMs = null } = this.doubts.get(sandbox) ?? {};
        return void this.doubts.set(sandbox, { address, cause, evidence, silentSinceMs });
      }
      case 'trusted':
        return void this.doubts.delete(event.sandbox);
    }
  }

  /**
   * The sandbox's address as soon as it runs. Rejects with `start_failed` when it is gone first, with the provider's own
   * failure when it will not run, or with the signal's reason.
   */
  running(sandbox: SandboxId, signal: AbortSignal): Promise<SandboxAddress> {
    const address = this.#running.get(sandbox);
    if (address !== undefined) return Promise.resolve(address);
    const end = this.#ends.get(sandbox);
    const failure = end === undefined ? this.#unable.get(sandbox) : goneBeforeReady(end);
    if (failure !== undefined) return Promise.reject(failure);
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    return this.#wait(sandbox, signal);
  }

  /** Whether it was seen to be gone, lately: only the newest {@link rememberedEnds} are remembered. */
  isGone(sandbox: SandboxId): boolean {
    return this.#ends.has(sandbox);
  }

  #wait(sandbox: SandboxId, signal: AbortSignal): Promise<SandboxAddress> {
    const { promise, resolve, reject } = Promise.withResolvers<SandboxAddress>();
    const stopped = () => end(() => reject(signal.reason as Error));
    const waiter: Waiter = {
      run: (address) => end(() => resolve(address)),
      fail: (failure) => end(() => reject(failure)),
    };
    const waiters = this.#waiters.get(sandbox) ?? new Set();
    const end = (tell: () => void) => {
      signal.removeEventListener('abort', stopped);
      waiters.delete(waiter);
      if (waiters.size === 0) this.#waiters.delete(sandbox);
      tell();
    };
    this.#waiters.set(sandbox, waiters.add(waiter));
    signal.addEventListener('abort', stopped, { once: true });
    return promise;
  }

  #appeared(sandbox: SandboxId, address: SandboxAddress): void {
    this.#running.set(sandbox, address);
    for (const waiter of this.#waiters.get(sandbox) ?? []) waiter.run(address);
  }

  #ended(sandbox: SandboxId, end: End): void {
    for (const map of [this.#running, this.#unable, this.doubts, this.leaving]) map.delete(sandbox);
    this.#ends.set(sandbox, end);
    forgetOldest(this.#ends);
    this.untold.set(sandbox, end);
    for (const waiter of this.#waiters.get(sandbox) ?? []) waiter.fail(goneBeforeReady(end));
  }

  #cannotStart(sandbox: SandboxId, failure: Failure): void {
    this.#unable.set(sandbox, failure);
    forgetOldest(this.#unable);
    for (const waiter of this.#waiters.get(sandbox) ?? []) waiter.fail(failure);
  }

  #listed({ sandboxes }: Extract<ProviderEvent, { kind: 'listed' }>): void {
    const there = new Set(sandboxes.filter(({ phase }) => phase !== 'gone').map(({ sandbox }) => sandbox));
    const absent = [...this.#running.keys()].filter((sandbox) => !there.has(sandbox));
    for (const sandbox of absent) this.#ended(sandbox, missedEnd);
    for (const { sandbox, address, phase } of sandboxes)
      if (phase === 'running' && address !== null) this.#appeared(sandbox, address);
  }
}

type Waiter = {
  readonly run: (address: SandboxAddress) => void;
  readonly fail: (failure: Failure) => void;
};

/** Far more than end while their removal is being written down (10,000 is the bound of a whole fleet's line). */
const rememberedEnds = 10_000;

function forgetOldest(map: Map<SandboxId, unknown>): void {
  for (const sandbox of map.keys()) {
    if (map.size <= rememberedEnds) return;
    map.delete(sandbox);
  }
}

/** The watch was away while it ended, so nobody knows how. */
const missedEnd: End = { cause: 'deleted', evidence: { observed: 'no longer listed by the provider' } };

/** Not its template's failure: it is started again, elsewhere. */
function startedInVain({ why }: Extract<ProviderEvent, { kind: 'leaving' }>): Failure {
  return new Failure('provider_unavailable', `the sandbox was given up as it started: ${why}`);
}

function unableToStart(event: Extract<ProviderEvent, { kind: 'cannot_start' }>): Failure {
  const { code, message, evidence } = event;
  return new Failure(code, `the sandbox cannot start: ${message}`, { evidence });
}

function goneBeforeReady({ cause, evidence }: End): Failure {
  const lastWords = evidence['lastWords'];
  const said = typeof lastWords === 'string' && lastWords !== '' ? `: ${lastWords}` : '';
  return new Failure('start_failed', `the sandbox was gone before it was ready (${cause})${said}`, {
    evidence: { ...evidence, cause },
  });
}
