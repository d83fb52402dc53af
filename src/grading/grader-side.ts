import { choiceOf } from '../claiming/claim-request.ts';
import { demandedAmounts } from '../claiming/kept-demands.ts';
import { chooseAgain, chooseForGrader } from '../environments/choose-template.ts';
import type { DemandedAmounts } from '../model/amounts.ts';
import type { Environment } from '../model/environment.ts';
import { freshLeaves } from '../model/grader-leaves.ts';
import type { Item } from '../model/grader.ts';
import { noTags } from '../model/rollout.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { GradeJob } from './job.ts';
import { brokenProtocol, suspiciousFailure } from './run-command-grader.ts';

type Graded = Pick<GradeJob, 'environment' | 'item' | 'turn'> & {
  readonly claim: Pick<GradeJob['claim'], 'face' | 'version'>;
  readonly rollout: Pick<RolloutRecord, 'owner' | 'itemKey' | 'needs' | 'template'>;
};

/** A gateway that grades renews it each second. If the gateway dies, the sandbox is removed after this time. */
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
      ...workdirOf(environment),
    },
  };
}

/** Changes are written by who owns the image's folder. Artifacts are files of the policy's user there, who must be able to write. */
function workdirOf({ grader, waives }: Environment): Pick<Environment, 'waives'> {
  const isWrittenByOwner = freshLeaves(grader).every(({ fresh }) => fresh.changes !== undefined);
  return isWrittenByOwner ? { waives: { ...waives, writableWorkdir: true } } : {};
}

/**
 * After Redis was lost, the demands come from the policy's sandbox, and its template from the provider. A policy with root's rights may
 * have changed the demands, so a contradiction is marked as what it may have caused.
 */
function amountsOf(
  { needs, template }: Pick<RolloutRecord, 'needs' | 'template'>,
  environment: Environment,
  item: Item | null,
): DemandedAmounts | null {
  const amounts = demandedAmounts(needs);
  const again = chooseAgain(environment, item, amounts);
  if (again === null || again.template.digest === template) return amounts;
  throw suspiciousFailure(
    'the sandbox of the rollout does not have what it says that its task demands',
    'EBADMSG',
  );
}
