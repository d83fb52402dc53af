import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { LinkError, type LinkTrouble } from '../ports/sandbox-link.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { RolloutKey } from '../model/rollout.ts';
import { Deadline } from '../waiting/deadline.ts';
import { checkStillThere } from './still-there.ts';

/** Looks whether the sandbox of a rollout answers, which gives `trouble`. */
async function check(trouble: LinkTrouble, given: Partial<RolloutRecord> = {}) {
  const rollout = fakeRollout({ state: 'active', ...given });
  const unserved: RolloutKey[] = [];
  const clock = createFakeClock();
  const deps = {
    clock,
    random: createFakeRandom(),
    claims: { find: () => Promise.resolve(rollout) },
    lifecycle: {
      ...createFakeLifecycleStore(),
      unserved: async (key: RolloutKey) => void unserved.push(key),
    },
    link: { identity: () => Promise.reject(new LinkError(trouble)) },
  };
  const failure = await checkStillThere(deps, rollout, Deadline.in(clock, 60_000)).catch(
    (thrown: unknown) => thrown,
  );
  return { failure, unserved, rollout };
}

test.each([
  { kind: 'not_sent', detail: 'ECONNREFUSED' },
  { kind: 'maybe_sent', detail: 'timeout' },
  { kind: 'refused', status: 401, code: 'unauthorized', message: 'no' },
] as const)(
  'a sandbox that does not serve the check, by $kind, is noted for the case that its rollout expires',
  async (trouble) => {
    const { failure, unserved, rollout } = await check(trouble);
    expect(failure).toMatchObject({ code: 'sandboxd_unreachable', evidence: { suspected: 'command' } });
    expect(unserved).toEqual([rollout.key]);
  },
);

test('a sandbox that the policy broke need not answer', async () => {
  const { failure, unserved } = await check({ kind: 'not_sent', detail: 'gone' }, { verdict: 'broken' });
  expect([failure, unserved]).toEqual([undefined, []]);
});
