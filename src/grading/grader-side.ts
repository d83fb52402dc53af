import { choiceOf } from '../claiming/claim-request.ts';
import { demandedAmounts } from '../claiming/kept-demands.ts';
import { chooseAgain, chooseForGrader } from '../environments/choose-template.ts';
import type { DemandedAmounts } from '../model/amounts.ts';
import type { Environment } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import { noTags } from '../model/rollout.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { GradeJob } from './job.ts';
import { brokenProtocol } from './run-command-grader.ts';

type Graded = Pick<GradeJob, 'environment' | 'item' | 'turn'> & {
  readonly claim: Pick<GradeJob['claim'], 'face' | 'version'>;
  readonly rollout: Pick<RolloutRecord, 'owner' | 'itemKey' | 'needs' | 'template'>;
};

/** Renewed each second while somebody works there: whoever died has let it go this long after. */
const graderIdleMs = 60_000;

/** The rollout's other side: its sandbox knows no task, has what the task demands, and lives no longer than the grade may take. */
export function graderSide({ environment, claim, rollout, item, turn }: Graded): {
  readonly request: ClaimRequest;
  readonly environment: Environment;
} {
  const { limits } = environment;
  const chosen = chooseForGrader(environment, item, amountsOf(rollout, environment, item));
  if (chosen === null) throw brokenProtocol('its environment has no sandbox for graders');
  const { template } = chosen;
  const times = { idleMs: graderIdleMs, hardLifeMs: limits.gradeMs };
  const { face, version } = claim;
  const names = {
    face,
    environment: environment.name,
    version,
    itemKey: rollout.itemKey,
    itemDigest: null,
    tags: noTags,
    needs: null,
  };
  return {
    request: {
      owner: { ...rollout.owner, role: 'grader' },
      ...names,
      template: template.digest,
      ...choiceOf(chosen),
      item: null,
      ...times,
      turn,
    },
    environment: {
      ...environment,
      template,
      limits: { ...limits, ...times },
      setup: { ...environment.setup, commands: [] },
      expose: [],
      tools: {},
    },
  };
}

/**
 * After Redis was lost, the demands are what the policy's sandbox has told, and its template is what the provider says: a policy with
 * root's rights may have changed the former.
 */
function amountsOf(
  { needs, template }: Pick<RolloutRecord, 'needs' | 'template'>,
  environment: Environment,
  item: Item | null,
): DemandedAmounts | null {
  const amounts = demandedAmounts(needs);
  const again = chooseAgain(environment, item, amounts);
  if (again === null || again.template.digest === template) return amounts;
  throw brokenProtocol('its sandbox does not have what it says that its task demands');
}
