import { environmentVersion } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { FailureCode } from '#src/failure/codes.ts';
import type { ClaimStore, PlaceInLine } from '#src/ports/fleet/claims.ts';
import { claimReplyOf, unknownRollout, evidenceText, recordOrNull } from './record.ts';
import { choose } from './environment-store.ts';
import { joinClaims } from './joined-claims.ts';
import { type Keys, runName } from './keys.ts';
import type { Messages } from './connection.ts';
import { listOf, numberOf, type Reply, type RunScript, textOf, textOrNull } from './script-runner.ts';

/** Keeps one script under a few milliseconds, because Redis does nothing else meanwhile. */
const renewBatch = 250;
const reasonMaxChars = 240;

export function claimStore(
  run: RunScript,
  keys: Keys,
  messages: Messages,
  rowBytesOfTenant: number,
): ClaimStore {
  const claim = joinClaims(run, rowBytesOfTenant);
  return {
    claim: async (request) => {
      if (request.chosen !== undefined) await choose(run, request.template, request.chosen);
      return claim(request);
    },
    find: async (owner, attempt) => {
      const before = `${runName(owner.tenant, owner.run)}/${encodeURIComponent(owner.rollout)}`;
      return recordOrNull(await run('find', before, attempt ?? '', owner.role));
    },
    row: async (key) => textOrNull(await run('read-row', key)),
    renew: (rollouts) => renew(run, rollouts),
    place: async (key) => placeOf(await run('place', key)),
    swap: async (key, generation, reason, evidence) => {
      const reply = await run(
        'swap',
        key,
        generation,
        reason.slice(0, reasonMaxChars),
        evidenceText(evidence),
      );
      if (reply === null) throw unknownRollout(key);
      return claimReplyOf(reply);
    },
    pinVersion: async (tenant, ofRun, environment, newest) =>
      environmentVersion(textOf(await run('pin-version', runName(tenant, ofRun), environment, newest))),
    onWake: (listener) => messages.listen(keys('wake'), (key) => listener(key as RolloutKey)),
  };
}

function placeOf(reply: Reply): PlaceInLine | null {
  if (reply === null) return null;
  const [ahead, code, message, alike, atMs] = listOf(reply);
  const failed = textOrNull(code);
  const lastFailure = failed && {
    code: failed as FailureCode,
    message: textOrNull(message) ?? '',
    // A version before does not count them.
    alike: numberOf(alike ?? 1),
    atMs: numberOf(atMs),
  };
  return { ahead: numberOf(ahead), lastFailure: lastFailure || null };
}

async function renew(run: RunScript, rollouts: readonly RolloutKey[]): Promise<ReadonlySet<RolloutKey>> {
  const changed = new Set<RolloutKey>();
  for (let start = 0; start < rollouts.length; start += renewBatch) {
    const batch = rollouts.slice(start, start + renewBatch);
    for (const key of listOf(await run('renew', ...batch))) changed.add(textOf(key) as RolloutKey);
  }
  return changed;
}
