import { environmentVersion } from '../../model/ids.ts';
import { rolloutKey, type RolloutKey } from '../../model/rollout.ts';
import type { ClaimReply, ClaimRequest, ClaimStore } from '../../ports/fleet/claims.ts';
import { claimReplyOf, unknownRollout } from './claim-reply.ts';
import { evidenceText } from './evidence.ts';
import type { Keys } from './keys.ts';
import type { Messages } from './messages.ts';
import { recordOrNull } from './record.ts';
import { listOf, textOf } from './reply.ts';
import { runName } from './run-name.ts';
import type { RunScript } from './script-runner.ts';

/** Keeps one script under a few milliseconds, because Redis does nothing else meanwhile. */
const renewBatch = 250;
const reasonMaxChars = 240;

export function claimStore(run: RunScript, keys: Keys, messages: Messages): ClaimStore {
  return {
    claim: async (request) => claimReplyOf(await run('claim', ...claimArguments(request))),
    find: async (owner, attempt) => {
      const before = `${runName(owner.tenant, owner.run)}/${encodeURIComponent(owner.rollout)}`;
      return recordOrNull(await run('find', before, attempt ?? '', owner.role));
    },
    renew: (rollouts) => renew(run, rollouts),
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

function claimArguments(request: ClaimRequest): readonly (string | number)[] {
  const { owner, face, environment, version, template, itemKey, item, idleMs, hardLifeMs } = request;
  return [
    rolloutKey(owner),
    face,
    environment,
    version,
    template,
    itemKey,
    item ?? '',
    Math.round(idleMs),
    Math.round(hardLifeMs),
  ];
}

async function renew(
  run: RunScript,
  rollouts: readonly RolloutKey[],
): Promise<ReadonlyMap<RolloutKey, ClaimReply>> {
  const found = new Map<RolloutKey, ClaimReply>();
  for (let start = 0; start < rollouts.length; start += renewBatch) {
    const batch = rollouts.slice(start, start + renewBatch);
    const replies = listOf(await run('renew', ...batch));
    for (const [index, key] of batch.entries()) {
      const reply = replies[index];
      if (reply !== null && reply !== undefined) found.set(key, claimReplyOf(reply));
    }
  }
  return found;
}
