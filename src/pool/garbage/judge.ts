import type { SandboxId } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { GarbageReason } from '#src/ports/metrics.ts';

/**
 * The provider's list against what fleet state knows. Both are read at slightly different moments, so a difference
 * counts only when it lasts.
 *
 *   only the provider has it   a launch or a removal under way, for a start timeout; then it is asked who it is
 *   only fleet state has it    being launched: its own timeout decides; draining: forgotten; else: lost
 */
export type Difference =
  | { readonly kind: 'stranger'; readonly sandbox: SandboxId }
  | { readonly kind: 'missing'; readonly sandbox: SandboxId; readonly phase: string };

export type Known = ReadonlyMap<SandboxId, { readonly phase: string }>;

export function differences(provided: readonly SandboxId[], known: Known): readonly Difference[] {
  const there = new Set(provided);
  const strangers = provided.filter((sandbox) => !known.has(sandbox));
  const missing = [...known].filter(([sandbox]) => !there.has(sandbox));
  return [
    ...strangers.map((sandbox) => ({ kind: 'stranger', sandbox }) as const),
    ...missing.map(([sandbox, { phase }]) => ({ kind: 'missing', sandbox, phase }) as const),
  ];
}

export type Patience = {
  /** A stranger this young may be a launch that fleet state was asked about a moment too early. */
  readonly strangerMs: number;
  /** Two comparisons at least, so that a list read just before a create does not count as a loss. */
  readonly missingMs: number;
  /** Whatever a stranger was bound to has ended by itself after this: the longest hard life of any environment. */
  readonly silentMs: number;
};

export type Decision = 'wait' | 'ask' | 'forget' | 'lose';

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
export type Answer =
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
