import { environmentVersion } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { FailureCode } from '#src/failure/codes.ts';
import type { ClaimStore, PlaceInLine } from '#src/ports/fleet/claims.ts';
import { claimReplyOf, unknownRollout, evidenceText, recordOrNull } from './record.ts';
import { choose } from './environment-store.ts';
import { joinClaims } from './joined-claims.ts';
import { type Keys, runName } from './keys.ts';
import type { Messages } from './connection.ts';
import { type RunScript, type Scripts, scriptsOver, textOrNull } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';
import { withGrant } from '#src/ports/fleet/wake-ups.ts';
import { wakeUpOf } from './scripts/wake-ups.ts';
import type { Place } from './scripts/waiting.ts';

/** Keeps one script under a few milliseconds, because Redis does nothing else meanwhile. */
const renewBatch = 250;
const reasonMaxChars = 240;

export function claimStore(
  run: RunScript,
  keys: Keys,
  messages: Messages,
  rowBytesOfTenant: number,
): ClaimStore {
  const { ask, exchange } = scriptsOver(run);
  const claim = joinClaims(run, rowBytesOfTenant);
  return {
    claim: async (request) => {
      if (request.chosen !== undefined) await choose(ask, request.template, request.chosen);
      return claim(request);
    },
    find: async (owner, attempt) => {
      const before = `${runName(owner.tenant, owner.run)}/${encodeURIComponent(owner.rollout)}`;
      return recordOrNull(await ask('find', { before, attempt: attempt ?? undefined, role: owner.role }));
    },
    row: async (key) => textOrNull((await exchange('read-row', { key })).texts[0]),
    renew: (rollouts) => renew(ask, rollouts),
    place: async (key) => placeOf(await ask('place', { key })),
    swap: async (key, generation, reason, evidence) => {
      const reply = await ask('swap', {
        key,
        generation,
        reason: reason.slice(0, reasonMaxChars),
        evidence: evidenceText(evidence),
      });
      if (reply === null) throw unknownRollout(key);
      return claimReplyOf(reply);
    },
    pinVersion: async (tenant, ofRun, environment, newest) =>
      environmentVersion(
        await ask('pin-version', { run: runName(tenant, ofRun), environment, version: newest }),
      ),
    granted: withGrant,
    onWake: (listener) => listenToWakeUps(messages, keys, listener),
  };
}

function listenToWakeUps(
  messages: Messages,
  keys: Keys,
  listener: Parameters<ClaimStore['onWake']>[0],
): () => void {
  return messages.listen(keys('wakeUps'), (text) => {
    const said = wakeUpOf(text);
    if (said !== null) listener(said.key, said.wakeUp);
  });
}

function placeOf(reply: Place | null): PlaceInLine | null {
  if (reply === null) return null;
  const { ahead, lastFailure } = reply;
  const failed = lastFailure && { ...lastFailure, code: lastFailure.code as FailureCode };
  return { ahead, lastFailure: failed ?? null };
}

async function renew(ask: Scripts['ask'], rollouts: readonly RolloutKey[]): Promise<ReadonlySet<RolloutKey>> {
  const changed = new Set<RolloutKey>();
  for (let start = 0; start < rollouts.length; start += renewBatch) {
    const batch = rollouts.slice(start, start + renewBatch);
    for (const key of itemsOf(await ask('renew', { rollouts: batch }))) changed.add(key as RolloutKey);
  }
  return changed;
}
