import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { isOver, type Owner, roleOf, rolloutKey } from '#src/model/rollout.ts';
import type { WireOwner } from '#src/protocol/sandboxd/wire.ts';
import type { ClaimStore } from '#src/ports/fleet/claims.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '#src/ports/sandbox-link.ts';
import type { ProvidedSandbox } from '#src/ports/sandbox-provider.ts';
import type { Answer } from './judge.ts';

export type AskTools = {
  readonly link: Pick<SandboxLink, 'identity'>;
  readonly claims: Pick<ClaimStore, 'find'>;
};

/** How long a sandbox may take to say who it is: health answers while commands run, so seconds are plenty. */
const identityTimeoutMs = 3_000;

/** Asks a sandbox whose it is, and fleet state about the rollout that it names. Never assumes. */
export async function ask(tools: AskTools, stranger: ProvidedSandbox, signal: AbortSignal): Promise<Answer> {
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
