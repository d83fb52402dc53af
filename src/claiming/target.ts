import { Failure } from '../failure/failure.ts';
import type { Epoch } from '../model/rollout.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { SandboxTarget } from '../ports/sandbox-link.ts';

/** The sandbox a rollout holds, as an address to speak to. */
export function targetOf(rollout: RolloutRecord): SandboxTarget & Epoch {
  if (rollout.epoch === null || rollout.address === null) {
    throw new Failure('unclassified', `rollout ${rollout.key} is ${rollout.state} but holds no sandbox`);
  }
  const { sandbox, boot } = rollout.epoch;
  return { sandbox, address: rollout.address, boot, owner: rollout.key };
}
