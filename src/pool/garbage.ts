import { type SandboxId, rolloutId, runId, tenantId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { PoolStore } from '../ports/fleet/pool.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics, GarbageReason } from '../ports/metrics.ts';
import type { ProvidedSandbox, SandboxProvider } from '../ports/sandbox-provider.ts';
import type { KnownSandboxes } from './known-sandboxes.ts';
import { eachOf } from '../waiting/each-of.ts';
import { isOver, type Owner, roleOf, rolloutKey, type RolloutKey } from '../model/rollout.ts';
import type { WireOwner } from '../protocol/sandboxd/wire.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';

type CollectTools = AskTools & {
  readonly provider: Pick<SandboxProvider, 'list' | 'destroy'>;
  readonly known: KnownSandboxes;
  readonly pool: Pick<PoolStore, 'known' | 'forget'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly patience: () => Patience;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly metrics: Pick<Metrics, 'garbageFound' | 'sandboxLost'>;
  readonly log: Log;
};

/** Differences handled at once: each may wait seconds for a sandbox that does not answer. */
const width = 16;

/** Compares the provider's own list with what fleet state knows, and settles what has differed for long enough. */
export function createCollector(tools: CollectTools): (signal: AbortSignal) => Promise<void> {
  const sinceMs = new Map<string, number>();

  return async (signal) => {
    const listed = (await tools.provider.list()).filter((one) => one.phase !== 'gone');
    const known = await tools.known.read();
    const provided = new Map(listed.map((one) => [one.sandbox, one]));
    const found = differences([...provided.keys()], known);
    const nowMs = tools.clock.monotonicMs();
    rememberFirst(sinceMs, found, nowMs);
    await eachOf(found, width, async (difference) => {
      const lastingMs = nowMs - (sinceMs.get(nameOf(difference)) ?? nowMs);
      const decision = decide(difference, lastingMs, tools.patience());
      await actOn(tools, decision, difference.sandbox, provided.get(difference.sandbox), lastingMs, signal);
    });
  };
}

async function actOn(
  tools: CollectTools,
  decision: Decision,
  sandbox: SandboxId,
  stranger: ProvidedSandbox | undefined,
  lastingMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (decision === 'forget') return tools.pool.forget(sandbox);
  if (decision === 'lose') return lose(tools, sandbox, lastingMs);
  if (decision === 'ask' && stranger !== undefined) return examine(tools, stranger, lastingMs, signal);
}

/** Whichever life it was: with the object every one of them is gone. */
async function lose(
  { lifecycle, metrics, log }: CollectTools,
  sandbox: SandboxId,
  lastingMs: number,
): Promise<void> {
  const evidence = { observed: 'missing from the provider', missingMs: Math.round(lastingMs) };
  const effect = await lifecycle.lose(sandbox, null, 'deleted', evidence);
  metrics.sandboxLost('deleted', effect.kind);
  log.warn('sandbox lost', { sandbox, cause: 'deleted', effect: effect.kind, ...evidence });
}

async function examine(
  tools: CollectTools,
  stranger: ProvidedSandbox,
  lastingMs: number,
  signal: AbortSignal,
): Promise<void> {
  // Sandboxes that an earlier version started become known late: only one without an owner may be asked and destroyed.
  const { sandbox } = stranger;
  if ((await tools.pool.known([sandbox])).has(sandbox)) return;
  const answer = await ask(tools, stranger, signal);
  const reason = garbage(answer, lastingMs, tools.patience());
  if (reason === null) return;
  await tools.provider.destroy(sandbox);
  tools.metrics.garbageFound(reason);
  tools.log.warn('destroyed a sandbox that fleet state does not know', { sandbox, reason });
}

// By kind too: a stranger that becomes known and then goes missing begins again.
const nameOf = ({ kind, sandbox }: Difference) => `${kind} ${sandbox}`;

function rememberFirst(sinceMs: Map<string, number>, found: readonly Difference[], nowMs: number): void {
  const names = new Set(found.map(nameOf));
  for (const name of sinceMs.keys()) if (!names.has(name)) sinceMs.delete(name);
  for (const name of names) if (!sinceMs.has(name)) sinceMs.set(name, nowMs);
}

type AskTools = {
  readonly link: Pick<SandboxLink, 'identity'>;
  readonly claims: Pick<ClaimStore, 'find'>;
};

/** How long a sandbox may take to say who it is: health answers while commands run, so seconds are plenty. */
const identityTimeoutMs = 3_000;

/** Asks a sandbox whose it is, and fleet state about the rollout that it names. Never assumes. */
async function ask(tools: AskTools, stranger: ProvidedSandbox, signal: AbortSignal): Promise<Answer> {
  if (stranger.address === null) return { kind: 'silent' };
  const target = { sandbox: stranger.sandbox, address: stranger.address, boot: null };
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(identityTimeoutMs)]);
  try {
    const { owner } = await tools.link.identity(target, inTime);
    return owner === null ? { kind: 'unbound' } : await boundTo(tools, stranger, owner);
  } catch (thrown) {
    if (thrown instanceof LinkError || inTime.aborted) return { kind: 'silent' };
    throw thrown;
  }
}

async function boundTo({ claims }: AskTools, { sandbox }: ProvidedSandbox, told: WireOwner): Promise<Answer> {
  const owner = ownerFrom(told);
  if (owner === null) return { kind: 'silent' };
  const record = await claims.find(owner, owner.attempt);
  return { kind: 'bound', rollout: rolloutKey(owner), state: stateOf(record, sandbox) };
}

function stateOf(record: RolloutRecord | null, sandbox: string) {
  if (record === null) return 'unknown';
  if (isOver(record.state)) return 'ended';
  return record.epoch?.sandbox === sandbox ? 'live_here' : 'live_elsewhere';
}

/** sandboxd keeps what the gateway told it at bind; null for a role that a later version may have. */
function ownerFrom(told: WireOwner): Owner | null {
  const role = roleOf(told.role);
  if (role === undefined) return null;
  return {
    tenant: tenantId(told.tenant),
    run: runId(told.run),
    rollout: rolloutId(told.rollout),
    attempt: told.attempt,
    role,
  };
}

/**
 * The provider's list against what fleet state knows. Both are read at slightly different moments, so a difference
 * counts only when it lasts.
 *
 *   only the provider has it   a launch or a removal under way, for a start timeout; then it is asked who it is
 *   only fleet state has it    being launched: its own timeout decides; draining: forgotten; else: lost
 */
type Difference =
  | { readonly kind: 'stranger'; readonly sandbox: SandboxId }
  | { readonly kind: 'missing'; readonly sandbox: SandboxId; readonly phase: string };

type Known = ReadonlyMap<SandboxId, { readonly phase: string }>;

export function differences(provided: readonly SandboxId[], known: Known): readonly Difference[] {
  const there = new Set(provided);
  const strangers = provided.filter((sandbox) => !known.has(sandbox));
  const missing = [...known].filter(([sandbox]) => !there.has(sandbox));
  return [
    ...strangers.map((sandbox) => ({ kind: 'stranger', sandbox }) as const),
    ...missing.map(([sandbox, { phase }]) => ({ kind: 'missing', sandbox, phase }) as const),
  ];
}

type Patience = {
  /** A stranger this young may be a launch that fleet state was asked about a moment too early. */
  readonly strangerMs: number;
  /** Two comparisons at least, so that a list read just before a create does not count as a loss. */
  readonly missingMs: number;
  /** Whatever a stranger was bound to has ended by itself after this: the longest hard life of any environment. */
  readonly silentMs: number;
};

type Decision = 'wait' | 'ask' | 'forget' | 'lose';

/** What to do about a difference that has been there for `lastingMs`. */
export function decide(difference: Difference, lastingMs: number, patience: Patience): Decision {
  if (difference.kind === 'stranger') return lastingMs < patience.strangerMs ? 'wait' : 'ask';
  if (lastingMs < patience.missingMs) return 'wait';
  switch (difference.phase) {
    case 'draining':
    case 'gone':
      return 'forget';
    case 'pending':
    case 'starting':
    case 'unsure': // its rollout is told first, by whoever asks unsure sandboxes again
      return 'wait';
    default:
      return 'lose';
  }
}

/** What a stranger said when asked, and what fleet state says of the rollout that it named. */
type Answer =
  | { readonly kind: 'unbound' }
  | {
      readonly kind: 'bound';
      readonly rollout: RolloutKey;
      /** `unknown`: fleet state has no such rollout; it may have forgotten, so the sandbox may be right. */
      readonly state: 'live_here' | 'live_elsewhere' | 'ended' | 'unknown';
    }
  | { readonly kind: 'silent' };

/** Whether a stranger is to be destroyed, and why; `null`: it is left alone. */
export function garbage(answer: Answer, lastingMs: number, patience: Patience): GarbageReason | null {
  if (answer.kind === 'unbound') return 'unbound';
  if (answer.kind === 'silent') return lastingMs < patience.silentMs ? null : 'never_answered';
  return answer.state === 'live_elsewhere' || answer.state === 'ended' ? 'rollout_ended' : null;
}
