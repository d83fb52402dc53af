import { type TemplateDigest, bootId, callId, isIdText, rolloutId, runId, tenantId } from '../model/ids.ts';
import { asFailure } from '../failure/failure.ts';
import { saidBySandbox } from '../failure/witness.ts';
import { type Owner, rolloutKey } from '../model/rollout.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { FoundRollout, RecoveryStore, FoundCall, FoundSandbox } from '../ports/fleet/recovery.ts';
import type { Log } from '../ports/log.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import { ask, type AskTools } from './ask.ts';
import type { Witness } from './witness.ts';
import { isDeepStrictEqual } from 'node:util';
import { parseLabel } from '../protocol/rollout/label.ts';
import type { Identity, JournalCall, WireOwner } from '../protocol/sandboxd/wire.ts';

export type WriteBackTools = AskTools & {
  readonly store: RecoveryStore;
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly witness: Witness;
  readonly log: Log;
  /** Templates that this fleet still has a use for. */
  readonly knownTemplates: () => ReadonlySet<TemplateDigest>;
};

/** What became of a sandbox that was asked. */
export type WrittenBack = 'live' | 'ready' | 'given_up' | 'unsure' | 'stranger' | 'late';

/**
 * Asks one sandbox and writes down what it is. Throws what may be over when it is tried again; one that makes us stumble
 * every time is unsure, for it must not keep the whole fleet waiting.
 */
export async function writeBack(
  tools: WriteBackTools,
  provided: ProvidedSandbox,
  signal: AbortSignal,
): Promise<WrittenBack> {
  let finding: Finding = { kind: 'unsure', owner: provided.owner };
  try {
    finding = judge(provided, await ask(tools, provided, signal), tools.knownTemplates());
    return await write(tools, provided, finding);
  } catch (thrown) {
    const { code, message, retry } = asFailure(thrown);
    if (retry !== 'no') throw thrown;
    const { sandbox } = provided;
    tools.log.error('a sandbox could not be written back', { sandbox, code, error: message });
    return doubt(tools, provided, finding.kind === 'rollout' ? finding.rollout.owner : provided.owner);
  }
}

async function write(
  tools: WriteBackTools,
  provided: ProvidedSandbox,
  finding: Finding,
): Promise<WrittenBack> {
  switch (finding.kind) {
    case 'rollout':
      return restore(tools, finding.rollout);
    case 'ready':
      await tools.store.restoreReady(finding.sandbox);
      return 'ready';
    case 'unsure':
      return doubt(tools, provided, finding.owner);
    case 'stranger':
      return 'stranger';
  }
}

async function doubt(
  { store, witness }: WriteBackTools,
  provided: ProvidedSandbox,
  owner: Owner | null,
): Promise<'unsure'> {
  const whose = owner === null ? witness.whoWasIn(provided.sandbox) : rolloutKey(owner);
  await store.markUnsure(provided.sandbox, provided.template, whose);
  return 'unsure';
}

async function restore(tools: WriteBackTools, found: FoundRollout): Promise<WrittenBack> {
  const restored = await tools.store.restoreRollout(found);
  if (restored !== 'two_lives') return endOf(restored);
  await loseOther(tools, found);
  const again = await tools.store.restoreRollout(found);
  return again === 'two_lives' ? 'unsure' : endOf(again);
}

type Restored = Awaited<ReturnType<RecoveryStore['restoreRollout']>>;

const endOf = (restored: Exclude<Restored, 'two_lives'>) =>
  typeof restored === 'string' ? restored : 'given_up';

/**
 * Its rollout was opened again while it did not answer. What the rollout is now in has half of its state, so it is lost,
 * with whatever this one knows.
 */
async function loseOther(
  { claims, lifecycle }: WriteBackTools,
  { owner, sandbox }: FoundRollout,
): Promise<void> {
  const record = await claims.find(owner, owner.attempt);
  if (record === null || record.epoch === null) return;
  const observed = 'calls of it had run in another sandbox, which now answers';
  const evidence = { observed, other: sandbox, ...saidBySandbox };
  await lifecycle.lose(record.epoch.sandbox, null, 'pod_replaced', evidence);
}

/** What a sandbox of the provider's list is to fleet state. */
type Finding =
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
function judge(
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
  const expiresInMs = identity.expiresInMs ?? 0;
  const rollout = { ...found, owner, label, expiresInMs, dispatched, calls };
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
