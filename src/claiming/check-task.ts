import { lackingAmounts } from '../environments/amount-kinds.ts';
import { chooseForGrader } from '../environments/choose-template.ts';
import { decideAmounts } from '../environments/demanded-amounts.ts';
import { raiseAmounts } from '../environments/raise-amounts.ts';
import { Failure } from '../failure/failure.ts';
import { refuseUnmet, requirementsUnmet } from '../failure/requirements-unmet.ts';
import type { Environment, TemplateBody } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { TenantId } from '../model/ids.ts';
import type { Requirements } from '../model/requirements.ts';
import type { ClaimRequest, ClaimStore } from '../ports/fleet/claims.ts';
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
 * Any gateway may grade a rollout, and a grader elsewhere gets what its task demands. Throws `state_unavailable` while a gateway is
 * here that would give it less.
 */
export async function checkGateways(
  { claims }: { readonly claims: Pick<ClaimStore, 'olderGateways'> },
  environment: Environment,
  item: Item | null,
  { needs }: Pick<ClaimRequest, 'needs'>,
): Promise<void> {
  const forGrader = chooseForGrader(environment, item, demandedAmounts(needs));
  if (forGrader?.choice?.amounts === undefined) return;
  const older = await claims.olderGateways();
  if (older === 0) return;
  throw new Failure(
    'state_unavailable',
    `${older} gateways of the previous release are still here, and would grade this task with less than it demands; ` +
      'try again when the upgrade is over',
    { evidence: { older_gateways: older } },
  );
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
