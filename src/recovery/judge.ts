import { isDeepStrictEqual } from 'node:util';
import { bootId, callId, isIdText, rolloutId, runId, type TemplateDigest, tenantId } from '../model/ids.ts';
import type { Owner } from '../model/rollout.ts';
import type { FoundCall, FoundRollout, FoundSandbox } from '../ports/fleet/recovery.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import { parseLabel } from '../protocol/rollout/label.ts';
import type { Identity, JournalCall, WireOwner } from '../protocol/sandboxd/wire.ts';

/** What a sandbox of the provider's list is to fleet state. */
export type Finding =
  | { readonly kind: 'rollout'; readonly rollout: FoundRollout }
  /** Nobody's, and fit to be anybody's. */
  | { readonly kind: 'ready'; readonly sandbox: FoundSandbox }
  /** It may work for a rollout, and nobody can say what that has come to. */
  | { readonly kind: 'unsure'; readonly owner: Owner | null }
  /**
   * Nobody's, and not known to be fit: a start that was forgotten half-way, or a grader's, whose turn is forgotten with its
   * claim and runs again in another. The garbage collection finds it.
   */
  | { readonly kind: 'stranger' };

/**
 * Judges one sandbox by the provider's list and by what it says of itself. `identity` null: it did not answer.
 *
 * Its own word is believed where nothing contradicts it, because first bind wins at the sandbox. Where the provider's
 * label names another owner, or an owner whom the sandbox has forgotten (another life of it), it is believed in nothing.
 *
 * What was tainted must not come back as clean. A taint that Redis has forgotten comes back from the sandbox: a lost
 * one does not answer; a call that nobody could ask about, and an answer that tainted, were never confirmed, so the
 * journal has them, they come back as not settled, and a grade waits until they are settled again, by the same answer
 * and the same rule as before.
 */
export function judge(
  provided: ProvidedSandbox,
  identity: Identity | null,
  knownTemplates: ReadonlySet<TemplateDigest>,
): Finding {
  if (provided.phase !== 'running' || provided.address === null) return { kind: 'stranger' };
  if ((identity?.owner ?? provided.owner)?.role === 'grader') return { kind: 'stranger' };
  if (identity === null) return { kind: 'unsure', owner: provided.owner };
  if (identity.state === 'expired') return { kind: 'stranger' };
  const { sandbox, template, address } = provided;
  const found = { sandbox, template, address, boot: bootId(identity.boot) };
  if (identity.owner === null) return unbound(found, provided, identity, knownTemplates);
  return bound(found, provided, identity, identity.owner);
}

function unbound(
  sandbox: FoundSandbox,
  { owner }: ProvidedSandbox,
  { probed }: Identity,
  knownTemplates: ReadonlySet<TemplateDigest>,
): Finding {
  const isFit = owner === null && probed && knownTemplates.has(sandbox.template);
  return isFit ? { kind: 'ready', sandbox } : { kind: 'stranger' };
}

function bound(found: FoundSandbox, provided: ProvidedSandbox, identity: Identity, told: WireOwner): Finding {
  const owner = ownerFrom(told);
  const label = parseLabel(identity.label);
  const isContradicted = provided.owner !== null && !isDeepStrictEqual({ ...provided.owner }, owner);
  if (owner === null || label === null || isContradicted || label.template !== found.template) {
    return { kind: 'unsure', owner: provided.owner ?? owner };
  }
  const calls = identity.calls.flatMap(callOf);
  const dispatched = calls.length > 0 || identity.filesPut > 0;
  const trainerActed = identity.filesPut > 0 || calls.some(({ counted }) => !counted);
  const expiresInMs = identity.expiresInMs ?? 0;
  const rollout = { ...found, owner, label, expiresInMs, dispatched, trainerActed, calls };
  return { kind: 'rollout', rollout };
}

function ownerFrom({ tenant, run, rollout, attempt, role }: WireOwner): Owner | null {
  if (role !== 'policy' || ![tenant, run, rollout].every(isIdText)) return null;
  return { tenant: tenantId(tenant), run: runId(run), rollout: rolloutId(rollout), attempt, role };
}

/** Our own calls (setup, graders) have ids that no caller can use, and are nobody's to repeat. */
function callOf({ callId: id, state, digest, label }: JournalCall): FoundCall[] {
  if (!isIdText(id)) return [];
  const isOver = state === 'done' || state === 'confirmed';
  return [
    { call: callId(id), tool: label, digest, state: isOver ? state : 'running', counted: label !== 'exec' },
  ];
}
