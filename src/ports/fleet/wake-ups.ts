import type { RolloutRecord } from './records.ts';

/** Where a waiting rollout got its sandbox. */
export type Grant = Pick<RolloutRecord, 'generation' | 'launchType' | 'claimedAtMs'> & {
  readonly epoch: NonNullable<RolloutRecord['epoch']>;
  readonly address: NonNullable<RolloutRecord['address']>;
};

/**
 * What happened to a rollout. A hint: it may be late or lost, so what it says of a verdict is read from fleet state, which returns a verdict
 * only once a replica has it. `released`: its sandbox was given up. `ended`: closed or expired. `unknown`: a renewal
 * found that something did.
 */
export type WakeUp =
  | { readonly kind: 'granted'; readonly grant: Grant }
  | { readonly kind: 'released' | 'verdict' | 'ended' | 'restored' | 'unknown' };

/** The rollout with the sandbox that it waited for; null if the grant is not newer than the record. */
export function withGrant(waiting: RolloutRecord, grant: Grant): RolloutRecord | null {
  return grant.generation > waiting.generation ? { ...waiting, ...grant, state: 'claimed' } : null;
}

/** Whether it says more than that the rollout has the sandbox that is in the record already. */
export function isNews(wakeUp: WakeUp, { generation }: Pick<RolloutRecord, 'generation'>): boolean {
  return wakeUp.kind !== 'granted' || wakeUp.grant.generation !== generation;
}
