import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/*
 * The smallest sandbox that an environment may give its grader has room for all that a policy may leave: a smaller one is a
 * mistake of its file, because the rollout would be discarded instead of scored.
 */

const yaml = `
name: smallest
sandbox: { image: host, disk: 256Mi, start_timeout: 30s }
grader_sandbox: { image: host, disk: 34Mi, memory: 98Mi, start_timeout: 30s }
tools: { shell: { builtin: shell, timeout: 60s } }
grader:
  kind: command
  grade_in: fresh
  artifacts: [src/, "deep/*/*/out"]
  artifact_bytes: 1Mi
  command: [sh, -c, 'as-policy sh -c "find src deep -type f | wc -l" > "$CORRAL_SCORE_FILE"']
  on_artifacts: -1
  timeout: 60s
  on_exit: -2
  on_timeout: -3
  on_out_of_memory: -4
  on_broken: -5
pool: { min_ready: 1, max: 8, grader: { min_ready: 1, max: 2 } }
`;

let corral: JoinedFleet;
beforeAll(async () => {
  corral = await joinSharedFleet({ smallest: yaml });
});
afterAll(() => corral.leave());

const begin = 'mkdir src deep && cd src';
const inFolders = (many: number) =>
  `${begin} && seq ${many} | xargs mkdir && for each in *; do echo > "$each/a"; done`;

test.concurrent.each([
  ['as many bytes', `${begin} && head -c 1048500 /dev/urandom > a`, 1],
  ['as many files in as many folders', inFolders(4_000), 4_000],
  [
    'files below more folders than may be, of which a pattern names no folder',
    `${begin} && cd ../deep && for each in $(seq 2100); do mkdir -p $each/b && echo > $each/b/out; done`,
    -1,
  ],
])('%s are graded by their score', async (what, command, score) => {
  const trace = `room_${what.replaceAll(/\W/g, '_')}`;
  const environment = 'smallest';
  const item = { id: 'one' };
  const answer = await corral.rft.call({ trace, call: 'c0', command, environment, item });
  expect(answer).toMatchObject({ status: 200 });
  expect(await corral.rft.grade({ trace, environment, item })).toMatchObject({
    status: 200,
    body: { score },
  });
});
