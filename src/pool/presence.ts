import type { LossCause } from '../failure/codes.ts';
import { type Evidence, Failure } from '../failure/failure.ts';
import type { SandboxId } from '../model/ids.ts';
import type { SandboxAddress } from '../model/rollout.ts';
import type { ProviderEvent } from '../ports/sandbox-provider.ts';

/** What the provider's watch has said so far, for those in this process who wait for a sandbox to run or to be gone. */
export type Presence = {
  apply(event: ProviderEvent): void;
  /**
   * The sandbox's address as soon as it runs. Rejects with `start_failed` when it is gone first, with the provider's own
   * failure when it will not run, or with the signal's reason.
   */
  running(sandbox: SandboxId, signal: AbortSignal): Promise<SandboxAddress>;
  /** Whether it was seen to be gone, lately: only the newest {@link rememberedGone} are remembered. */
  isGone(sandbox: SandboxId): boolean;
};

type Gone = { readonly cause: LossCause; readonly evidence: Evidence };
type Waiter = {
  readonly run: (address: SandboxAddress) => void;
  readonly fail: (failure: Failure) => void;
};

/** Far more than end while their removal is being written down (10,000 is the bound of a whole fleet's line). */
const rememberedGone = 10_000;

export function createPresence(): Presence {
  const addresses = new Map<SandboxId, SandboxAddress>();
  const gone = new Map<SandboxId, Gone>();
  const unable = new Map<SandboxId, Failure>();
  const waiters = new Map<SandboxId, Set<Waiter>>();

  const appeared = (sandbox: SandboxId, address: SandboxAddress) => {
    addresses.set(sandbox, address);
    for (const waiter of waiters.get(sandbox) ?? []) waiter.run(address);
  };
  const vanished = (sandbox: SandboxId, how: Gone) => {
    addresses.delete(sandbox);
    gone.set(sandbox, how);
    forgetOldest(gone, rememberedGone);
    unable.delete(sandbox);
    for (const waiter of waiters.get(sandbox) ?? []) waiter.fail(goneBeforeReady(sandbox, how));
  };
  const cannotStart = (sandbox: SandboxId, failure: Failure) => {
    unable.set(sandbox, failure);
    forgetOldest(unable, rememberedGone);
    for (const waiter of waiters.get(sandbox) ?? []) waiter.fail(failure);
  };
  const listed = (event: Extract<ProviderEvent, { kind: 'listed' }>) => {
    for (const sandbox of absent(addresses, event)) vanished(sandbox, missedEnd);
    for (const { sandbox, address, phase } of event.sandboxes) {
      if (phase === 'running' && address !== null) appeared(sandbox, address);
    }
  };

  const isStarting = (sandbox: SandboxId) => !addresses.has(sandbox);

  const apply = (event: ProviderEvent) => {
    switch (event.kind) {
      case 'running':
        return appeared(event.sandbox, event.address);
      case 'gone':
        return vanished(event.sandbox, event);
      case 'listed':
        return listed(event);
      case 'cannot_start':
        return cannotStart(event.sandbox, unableToStart(event));
      case 'leaving':
        return isStarting(event.sandbox) ? cannotStart(event.sandbox, startedInVain(event)) : undefined;
      case 'doubted':
      case 'trusted':
        return; // It runs, as far as anybody knows.
    }
  };

  const running = (sandbox: SandboxId, signal: AbortSignal) =>
    new Promise<SandboxAddress>((resolve, reject) => {
      const stopped = () => settle(() => reject(signal.reason as Error));
      const waiter: Waiter = {
        run: (address) => settle(() => resolve(address)),
        fail: (failure) => settle(() => reject(failure)),
      };
      const settle = (end: () => void) => {
        signal.removeEventListener('abort', stopped);
        removeFrom(waiters, sandbox, waiter);
        end();
      };
      const known = addresses.get(sandbox);
      const ended = gone.get(sandbox);
      const failure = unable.get(sandbox);
      if (known !== undefined) return resolve(known);
      if (ended !== undefined) return reject(goneBeforeReady(sandbox, ended));
      if (failure !== undefined) return reject(failure);
      if (signal.aborted) return reject(signal.reason as Error);
      addTo(waiters, sandbox, waiter);
      signal.addEventListener('abort', stopped, { once: true });
    });

  return { apply, running, isGone: (sandbox) => gone.has(sandbox) };
}

const missedEnd: Gone = { cause: 'deleted', evidence: { observed: 'no longer listed by the provider' } };

/** Sandboxes that ran and that a whole list of the provider no longer has. */
function absent(
  running: ReadonlyMap<SandboxId, unknown>,
  listed: Extract<ProviderEvent, { kind: 'listed' }>,
): readonly SandboxId[] {
  const there = new Set(listed.sandboxes.filter((one) => one.phase !== 'gone').map((one) => one.sandbox));
  return [...running.keys()].filter((sandbox) => !there.has(sandbox));
}

/** Not its template's failure: it is started again, elsewhere. */
function startedInVain({ sandbox, why }: Extract<ProviderEvent, { kind: 'leaving' }>) {
  return new Failure('provider_unavailable', `sandbox ${sandbox} was given up as it started: ${why}`);
}

function unableToStart({
  sandbox,
  code,
  message,
  evidence,
}: Extract<ProviderEvent, { kind: 'cannot_start' }>) {
  return new Failure(code, `sandbox ${sandbox} cannot start: ${message}`, { evidence });
}

function goneBeforeReady(sandbox: SandboxId, { cause, evidence }: Gone): Failure {
  const lastWords = evidence['lastWords'];
  const said = typeof lastWords === 'string' && lastWords !== '' ? `: ${lastWords}` : '';
  return new Failure('start_failed', `sandbox ${sandbox} was gone before it was ready (${cause})${said}`, {
    evidence: { ...evidence, cause },
  });
}

function forgetOldest(map: Map<unknown, unknown>, bound: number): void {
  for (const key of map.keys()) {
    if (map.size <= bound) return;
    map.delete(key);
  }
}

function addTo<Key, Value>(map: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const set = map.get(key) ?? new Set();
  map.set(key, set.add(value));
}

function removeFrom<Key, Value>(map: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const set = map.get(key);
  if (set?.delete(value) === true && set.size === 0) map.delete(key);
}
