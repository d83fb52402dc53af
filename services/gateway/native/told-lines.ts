import type { Scope } from '#src/access/keys.ts';
import { withoutWhy } from '#src/reports/without-why.ts';

/**
 * Event lines as the bearer of a key may read them. Why a rollout has its score holds the truth of its dataset row, and a
 * grader's own words about it: that is for whoever looks after the tenant (`admin`), and not for the key that plays rollouts,
 * which may lie where a policy finds it. Of a whole run nobody is told.
 */
export async function* toldLines(
  lines: AsyncIterable<string>,
  of: 'rollout' | 'run',
  scopes: readonly Scope[],
): AsyncGenerator<string> {
  const whole = of === 'rollout' && scopes.includes('admin');
  for await (const line of lines) yield whole ? line : withoutWhy(line);
}
