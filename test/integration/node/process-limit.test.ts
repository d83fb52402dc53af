import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/*
 * In a sandbox with ids of its own the policy's processes are limited by the kernel's count of its id. What sandboxd starts beyond
 * that has a place, and nothing of the policy's is ended to make one.
 */

const processes = 64;
let node: TestNode;
let inside: Inside;
beforeAll(async () => {
  node = await startNodeProcess({ env: { CORRAL_NODE_USER_NAMESPACES: 'require' } });
  inside = await goInside(node, { processes });
});
afterAll(async () => {
  await inside.leave();
  await node.stop();
});

/** Sleepers until no further one can be forked; a shell that cannot fork ends itself, so another one tries. */
const fill = `setsid sh -c 'while :; do (sleep 600 &) || exit; done' > /dev/null 2>&1; echo filled`;
const sleepers = `n=0; for file in /proc/[0-9]*/comm; do read -r name < $file && [ "$name" = sleep ] && n=$((n+1)); done; echo $n`;

const out = async (answer: Promise<CallAnswer>) => (await answer).stdout.head;

it('a policy fills its own places, and those alone', async () => {
  expect(await out(inside.sh(fill))).toBe('filled\n');
  const count = Number(await out(inside.sh(sleepers)));
  // The shells that forked them had places too.
  expect(count).toBeGreaterThan(processes - 8);
  expect(count).toBeLessThan(processes);
});

it('a command starts, a helper with all of its threads works, and no sleeper is ended for them', async () => {
  const before = await out(inside.sh(sleepers));
  await inside.sh('sleep 600 & sleep 600 & sleep 600 &');
  const action = { kind: 'builtin', tool: 'list_files', arguments: { path: '/' } } as const;
  expect(await out(inside.run(action))).toContain('workspace/\n');
  expect(Number(await out(inside.sh(sleepers)))).toBeGreaterThanOrEqual(Number(before));
});

it('a grader runs other programs of the policy while one of them fills all places', async () => {
  const command = [
    `as-policy --timeout 5 sh -c 'while (sleep 600 &); do :; done; echo filled; exec sleep 600' > files/filled 2> /dev/null &`,
    `until grep -q filled files/filled; do sleep 0.1; done`,
    `as-policy --timeout 5 sh -c 'echo started' > files/said`,
    `[ "$(cat files/said)" = started ] && echo 1 > "$CORRAL_SCORE_FILE"`,
  ].join('\n');
  const argv = ['sh', '-c', command];
  const { grade } = await inside.run({ kind: 'grade', turn: 1, argv, files: {}, stdin: '' }, 15_000);
  expect(grade).toEqual({ kind: 'ran', score: '1\n' });
});
