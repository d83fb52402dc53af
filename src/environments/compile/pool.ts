import type { PoolSizes } from '#src/model/environment.ts';
import { freshLeaves } from '#src/model/grader-leaves.ts';
import type { Grader } from '#src/model/grader.ts';
import type { Report } from '../mistakes.ts';
import { parseDurationMs } from '../quantities.ts';
import type { EnvironmentYaml } from '../schema/environment.ts';

/** A grade takes some seconds of minutes that a rollout takes, so few of its kind are in use at once. */
const graderShare = 8;

/**
 * How many sandboxes an environment has. A grader's sandboxes have a share of their own in `max`: rollouts that wait for
 * one hold each theirs, and if both were of one share, as many of them as it has would wait for each other for ever.
 */
export function compilePool(yaml: EnvironmentYaml, grader: Grader, report: Report): PoolSizes {
  const { pool = {}, sandbox } = yaml;
  const max = pool.max ?? 100;
  const eachRowHasItsOwn = typeof sandbox.image !== 'string';
  const minReady = pool.min_ready ?? (eachRowHasItsOwn ? 0 : 1);
  const ofGrader = graderPool(yaml, max, grader, report);
  if (minReady > max - (ofGrader?.max ?? 0))
    report(
      ['pool', 'min_ready'],
      ofGrader === undefined
        ? 'must not be above max'
        : "must not be above max without the grader's share of it",
    );
  if (minReady > 0 && eachRowHasItsOwn) {
    report(
      ['pool', 'min_ready'],
      'must be 0 where each row names its image: nobody knows which to keep ready; announce bursts with their items',
    );
  }
  const maxAgeMs = parseDurationMs(pool.max_age ?? '1h');
  return { minReady, max, maxAgeMs, ...(ofGrader && { grader: ofGrader }) };
}

function graderPool(
  { pool: { grader } = {}, sandbox, grader_sandbox }: EnvironmentYaml,
  max: number,
  graded: Grader,
  report: Report,
): PoolSizes['grader'] {
  if (freshLeaves(graded).length === 0) {
    if (grader !== undefined)
      report(['pool', 'grader'], 'is of graders with grade_in: fresh, and there is none');
    return undefined;
  }
  const most = grader?.max ?? Math.max(1, Math.floor(max / graderShare));
  const eachRowHasItsOwn = typeof (grader_sandbox ?? sandbox).image !== 'string';
  const ready = grader?.min_ready ?? (eachRowHasItsOwn ? 0 : 1);
  if (ready > 0 && eachRowHasItsOwn)
    report(
      ['pool', 'grader', 'min_ready'],
      'must be 0 where each row names the image of its grader: the next row is unknown',
    );
  if (most > max / 2)
    report(
      ['pool', 'grader', 'max'],
      `must be at most half of pool.max, ${max}, of which it is a part: the rest is the policy's`,
    );
  if (ready > most) report(['pool', 'grader', 'min_ready'], 'must not be above its max');
  return { minReady: ready, max: most };
}
