import { lackingAmounts } from '../environments/amount-kinds.ts';
import { decideAmounts } from '../environments/demanded-amounts.ts';
import { raiseAmounts } from '../environments/raise-amounts.ts';
import { refuseUnmet, requirementsUnmet } from '../failure/requirements-unmet.ts';
import type { Environment, TemplateBody } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { TenantId } from '../model/ids.ts';
import type { Requirements } from '../model/requirements.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { ControlStore } from '../ports/fleet/controls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { demandedAmounts } from './kept-demands.ts';
import { checkRequirements, verifierFails } from './unmet-requirements.ts';

type Task = { readonly requirements: Requirements | null; readonly item: Item | null };

/** Throws `requirements_unmet` for what the environment does not give, and for a task whose controls failed in it. */
export async function checkTask(
  { controls }: { readonly controls: Pick<ControlStore, 'standing'> },
  tenant: TenantId,
  environment: Environment,
  { requirements, item }: Task,
): Promise<void> {
  if (requirements === null) return;
  const { unmet } = decideAmounts(environment, item, requirements.amounts);
  checkRequirements(environment, requirements, unmet);
  const { task } = requirements;
  if (task === undefined) return;
  const standing = await controls.standing({ tenant, version: environment.version, task });
  if (standing?.standing === 'refused')
    throw requirementsUnmet([verifierFails(environment, standing.reason ?? '')]);
}

/**
 * A rollout keeps what it was opened with. Throws `requirements_unmet` if a repeat demands more of its sandbox than that: the task
 * would run with less than it demands.
 */
export function checkOpenedWith(
  { template }: Pick<Environment, 'template'>,
  { needs }: Pick<RolloutRecord, 'needs'>,
  claim: Pick<ClaimRequest, 'needs'>,
): void {
  const given = raiseAmounts<TemplateBody>(template, demandedAmounts(needs) ?? {});
  const lacking = lackingAmounts(given, demandedAmounts(claim.needs) ?? {});
  refuseUnmet(
    lacking.map(({ requirement, wanted, has }) => ({
      requirement,
      wanted,
      given: `the rollout is open already, and its sandbox has ${has}`,
      fix: 'open it under another rollout_id, or demand all when it is first opened',
    })),
  );
}
