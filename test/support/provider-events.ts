import type { SandboxId } from '#src/model/ids.ts';
import type { ProviderEvent, SandboxProvider } from '#src/ports/sandbox-provider.ts';

type Kind = ProviderEvent['kind'];
type OfKind<K extends Kind> = Extract<ProviderEvent, { kind: K }>;

/** A watch of a provider that a test can wait on. */
export type RecordedEvents = {
  all(): readonly ProviderEvent[];
  /** The first event of a kind, also one of the past. */
  next<K extends Kind>(kind: K): Promise<OfKind<K>>;
  /** The first event of a kind about one sandbox, also one of the past. */
  of<K extends 'running' | 'gone' | 'cannot_start'>(sandbox: SandboxId, kind: K): Promise<OfKind<K>>;
  stop(): Promise<void>;
};

/** A sandbox of a busy test machine is ready or gone long before. */
const patienceMs = 30_000;

export function recordEvents(provider: Pick<SandboxProvider, 'watch'>): RecordedEvents {
  const seen: ProviderEvent[] = [];
  const waiting = new Set<() => void>();
  const stopping = new AbortController();
  const record = (event: ProviderEvent) => {
    seen.push(event);
    for (const look of waiting) look();
  };
  const watching = provider.watch(record, stopping.signal);

  const first = <K extends Kind>(kind: K, sandbox: SandboxId | null) =>
    new Promise<OfKind<K>>((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        waiting.delete(look);
      };
      const look = () => {
        const found = seen.find((event): event is OfKind<K> => matches(event, kind, sandbox));
        if (found !== undefined) {
          settle();
          return resolve(found);
        }
        const end = seen.find((event) => matches(event, 'gone', sandbox));
        if (end === undefined || sandbox === null) return;
        settle();
        reject(new Error(`gone before ${kind}: ${JSON.stringify(end)}`));
      };
      const timer = setTimeout(() => {
        settle();
        reject(new Error(`no event ${kind} ${sandbox ?? ''} among: ${JSON.stringify(seen.slice(-20))}`));
      }, patienceMs);
      waiting.add(look);
      look();
    });

  return {
    all: () => [...seen],
    next: (kind) => first(kind, null),
    of: (sandbox, kind) => first(kind, sandbox),
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}

function matches(event: ProviderEvent, kind: Kind, sandbox: SandboxId | null): boolean {
  if (event.kind !== kind) return false;
  return sandbox === null || (event.kind !== 'listed' && event.sandbox === sandbox);
}
