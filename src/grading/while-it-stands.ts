import { Failure } from '../failure/failure.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import { pauseMs } from '../waiting/patience.ts';
import type { GradeJob } from './job.ts';
import { afterTrouble, isOfConnection } from './sandbox-trouble.ts';
import type { TroubleDeps } from './sandbox-trouble.ts';

/** The policy broke its sandbox, as fleet state has heard meanwhile; `message` is the reason, for a person. */
export class PolicyBrokeIt extends Error {}

/**
 * Asks the sandbox of a grading until it answers. A connection that breaks is no fault of the grader's and costs it no
 * turn: each step is one that may be asked again, so it is, until the turn's own deadline. Throws what bars the rollout
 * when its sandbox is lost or its end came, `PolicyBrokeIt`, a `LinkError` where sandboxd itself refused, and
 * `sandboxd_unreachable` at the deadline.
 */
export async function whileItStands<Result>(
  deps: TroubleDeps,
  job: GradeJob,
  step: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await step();
    } catch (thrown) {
      if (!(thrown instanceof LinkError) || !isOfConnection(thrown)) throw thrown;
      const { broken } = await afterTrouble(deps, job.rollout, thrown, job.deadline);
      if (broken !== null) throw new PolicyBrokeIt(broken);
      if (job.deadline.passed) throw unreachable(thrown);
      await deps.clock.sleep(Math.min(pauseMs(attempt), job.deadline.remainingMs));
    }
  }
}

function unreachable(error: LinkError): Failure {
  const message = `the sandbox did not answer for as long as its rollout may be graded: ${error.message}`;
  return new Failure('sandboxd_unreachable', message, { admitted: 'unknown', cause: error });
}
