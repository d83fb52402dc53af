import { bootId, type SandboxId, type TemplateDigest } from '#src/model/ids.ts';
import { type Owner, sandboxAddress } from '#src/model/rollout.ts';
import type { LossCause } from '#src/failure/codes.ts';
import { LinkError, type SandboxLink } from '#src/ports/sandbox-link.ts';
import type { ProvidedSandbox, ProviderEvent, SandboxProvider } from '#src/ports/sandbox-provider.ts';
import type { Identity } from '#src/protocol/sandboxd/wire.ts';

export type Engine = {
  readonly provider: SandboxProvider;
  readonly link: Pick<SandboxLink, 'identity' | 'prepare' | 'probe' | 'attach' | 'settled' | 'onUnsettled'>;
  /** Every sandbox ever created, in order. */
  readonly created: SandboxId[];
  readonly labels: Map<SandboxId, Owner>;
  alive(): readonly SandboxId[];
  kill(sandbox: SandboxId, cause: LossCause): void;
  /** Makes one without anybody's asking, as after a forgotten create; bound to `owner` if given. */
  plant(sandbox: SandboxId, template: TemplateDigest, owner: Owner | null): void;
  /** Starts hang at their probe until this is lifted. */
  hold(): { lift(): void };
};

type Machine = { readonly template: TemplateDigest; readonly owner: Owner | null };

const addressOf = (sandbox: SandboxId) => sandboxAddress(`unix:/nowhere/${sandbox}`);

/** An engine of sandboxes and their sandboxds in this process, for several controllers at once. */
export function createEngine(): Engine {
  const machines = new Map<SandboxId, Machine>();
  const watchers = new Set<(event: ProviderEvent) => void>();
  const created: SandboxId[] = [];
  const labels = new Map<SandboxId, Owner>();
  let gate: Promise<void> = Promise.resolve();

  const tell = (event: ProviderEvent) => {
    for (const watcher of watchers) watcher(event);
  };
  const listed = () =>
    [...machines].map(([sandbox, { template }]): ProvidedSandbox => ({
      sandbox,
      template,
      phase: 'running',
      address: addressOf(sandbox),
      createdAtMs: 0,
      owner: labels.get(sandbox) ?? null,
      expiresAtMs: null,
    }));
  const end = (sandbox: SandboxId, cause: LossCause) => {
    if (machines.delete(sandbox)) tell({ kind: 'gone', sandbox, cause, evidence: {} });
  };
  const machineOf = (sandbox: SandboxId): Machine => {
    const machine = machines.get(sandbox);
    if (machine === undefined) throw new LinkError({ kind: 'not_sent', detail: 'no such sandbox' });
    return machine;
  };

  return {
    created,
    labels,
    alive: () => [...machines.keys()],
    kill: end,
    plant: (sandbox, template, owner) => void machines.set(sandbox, { template, owner }),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return { lift: resolve };
    },
    provider: {
      create: async ({ sandbox, template }) => {
        if (machines.has(sandbox)) return;
        created.push(sandbox);
        machines.set(sandbox, { template: template.digest, owner: null });
        tell({ kind: 'running', sandbox, address: addressOf(sandbox) });
      },
      destroy: async (sandbox) => end(sandbox, 'deleted'),
      list: async () => listed(),
      watch: async (onEvent, signal) => {
        watchers.add(onEvent);
        onEvent({ kind: 'listed', sandboxes: listed() });
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        watchers.delete(onEvent);
      },
      label: async (sandbox, owner) => void labels.set(sandbox, owner),
      limitations: async () => [],
    },
    link: {
      identity: async ({ sandbox }): Promise<Identity> => {
        const { owner } = machineOf(sandbox);
        return {
          sandbox,
          boot: bootId(`boot-${sandbox}`),
          protocol: 1,
          state: owner === null ? 'unbound' : 'bound',
          isolation: 'two-user',
          owner,
          expiresInMs: null,
          label: null,
          probed: false,
          filesPut: 0,
          keepsStdin: true,
          calls: [],
        };
      },
      prepare: async () => ({ ok: true, durationMs: 1 }),
      probe: async (target) => {
        await gate;
        machineOf(target.sandbox);
        return { ok: true, durationMs: 1 };
      },
      attach: async () => {
        throw new LinkError({ kind: 'refused', status: 404, code: 'unknown_call', message: 'no call' });
      },
      settled: () => undefined,
      onUnsettled: () => undefined,
    },
  };
}
