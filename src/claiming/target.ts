import { Failure } from '../failure/failure.ts';
import type { Epoch } from '../model/rollout.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { SandboxTarget } from '../ports/sandbox-link.ts';

/**
 * Whether its sandbox's commands have another id than sandboxd, as it said before anything of the policy ran there. If not, a policy can
 * write what its sandbox says.
 */
export const hasIdsApart = ({ epoch, idsApartIn }: Pick<RolloutRecord, 'epoch' | 'idsApartIn'>): boolean =>
  idsApartIn !== null && idsApartIn === epoch?.boot;

/** The sandbox a rollout holds, as an address to speak to. */
export function targetOf(rollout: RolloutRecord): SandboxTarget & Epoch {
  if (rollout.epoch === null || rollout.address === null) {
    throw new Failure('unclassified', `rollout ${rollout.key} is ${rollout.state} but holds no sandbox`);
  }
  const { sandbox, boot } = rollout.epoch;
  return { sandbox, address: rollout.address, boot, owner: rollout.key };
}
