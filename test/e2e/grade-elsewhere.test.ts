import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';
import { eventually } from '#test/support/eventually.ts';
import { expectFailure, toldLost } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/*
 * A grader that works where the policy never was: it is given `src/`, `out/*.txt` and the row's own tests, and nothing else.
 * Its score is what the row's test says of what the policy's program prints, which runs there as the policy.
 */

const judge = `
ls -A "$CORRAL_WORKSPACE" > seen || as-policy ls -A > seen
cat seen >&2
sh "$CORRAL_GRADER_DIR/hold.sh"
as-policy sh src/answer.sh > said
if diff said "$CORRAL_GRADER_DIR/deep/expected" >&2; then echo 1; else echo 0; fi > "$CORRAL_SCORE_FILE"
`;

const yaml = (name: string, gradeIn: string, extra = '') => `
name: ${name}
sandbox: { image: host, disk: 64Mi, processes: 64, start_timeout: 30s }
tools: { shell: { builtin: shell, timeout: 30s } }
grader:
  kind: command
  ${gradeIn}
  command: [sh, -c, ${JSON.stringify(judge)}]
  files: { from: "tests/{item.id}/" }
  timeout: 60s
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0.125
${extra}`;

const elsewhere =
  'grade_in: fresh\n  artifacts: [src/, "out/*.txt"]\n  artifact_bytes: 1Mi\n  on_artifacts: 0.25';
const files = {
  'tests/one/hold.sh': 'exit 0\n',
  'tests/one/deep/expected': 'one\n',
  'tests/two/hold.sh': 'exit 0\n',
  'tests/two/deep/expected': 'two\n',
  // Long enough to be killed under: whose sandbox it is stands there two to four seconds after the claim.
  'tests/slow/hold.sh': 'sleep 10\n',
  'tests/slow/deep/expected': 'slow\n',
};

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({
    environments: {
      fresh: yaml('fresh', elsewhere, 'pool: { min_ready: 2, max: 24, grader: { min_ready: 1, max: 4 } }'),
      same: yaml('same', 'grade_in: same', 'pool: { min_ready: 1, max: 4 }'),
    },
    files,
  });
});
afterAll(() => corral.stop());

const writes = (answer: string) => `mkdir -p src out && echo 'echo ${answer}' > src/answer.sh`;

async function play(
  trace: string,
  commands: readonly string[],
  item: { readonly id: string },
  environment = 'fresh',
) {
  for (const [index, command] of commands.entries()) {
    const answer = await corral.rft.call({ trace, call: `c${index}`, command, environment, item });
    expect(answer).toMatchObject({ status: 200 });
  }
}

/** `/workspace/src/…/a`, 4,091 bytes: whoever writes it again has no room for a longer name beside it. */
const deepest = `cd src && for each in $(seq 16); do mkdir ${'d'.repeat(240)} && cd ${'d'.repeat(240)} || exit 1; done; mkdir ${'e'.repeat(218)} && echo > ${'e'.repeat(218)}/a`;

const grade = (trace: string, item: { readonly id: string }, environment = 'fresh') =>
  corral.rft.grade({ trace, environment, item });

const graderOf = async (rollout: string): Promise<LocalSandbox | undefined> =>
  (await corral.fleet.sandboxes()).find(({ owner }) => owner?.rollout === rollout && owner.role === 'grader');

async function isGraded(rollout: string): Promise<LocalSandbox> {
  await eventually(async () => ({ grader: await graderOf(rollout) }), { grader: expect.anything() });
  const grader = await graderOf(rollout);
  if (grader === undefined) throw new Error('it is gone already');
  return grader;
}

describe.concurrent.each(['fresh', 'same'])('hidden files of a row, with grade_in: %s', (environment) => {
  test.each([
    ['one', 'one', 1],
    ['one', 'two', 0],
    ['two', 'two', 1],
  ])('a row %s answered with %s is worth %d', async (id, answer, score) => {
    const trace = `${environment}_${id}_${answer}`;
    await play(trace, [writes(answer)], { id }, environment);
    expect(await grade(trace, { id }, environment)).toMatchObject({ status: 200, body: { score } });
  });

  test.each(['../one', 'one/../one', 'three', '/etc', '.', '__proto__'])(
    'a row %j without a folder is the caller’s mistake',
    async (id) => {
      const trace = `${environment}_walk_${encodeURIComponent(id)}`;
      await play(trace, [writes('one')], { id }, environment);
      expectFailure(await grade(trace, { id }, environment), {
        status: 500,
        code: 'item_missing',
        blame: 'caller',
        admitted: 'no',
        retryable: false,
        tainted: false,
      });
    },
  );
});

describe.concurrent('what a grader elsewhere is given', () => {
  test('are the artifacts alone: links and pipes are left out, as is all that is not named', async () => {
    const commands = [
      writes('one'),
      `echo > src/${'n'.repeat(255)}`,
      'ln -s /etc/passwd src/link; mkfifo src/pipe; ln -s src more; echo secret > other; echo 1 > out/a.txt; echo 2 > out/b.bin',
      'mkdir -p ~/.local/lib && echo x > ~/.local/lib/x; echo evil > /tmp/evil',
    ];
    await play('given', commands, { id: 'one' });
    expect(await grade('given', { id: 'one' })).toMatchObject({ status: 200, body: { score: 1 } });
  });

  test.each([
    ['nothing', ['true']],
    ['a link in their place', ['mkdir -p real && echo echo one > real/answer.sh && ln -s real src']],
    ['a file where a folder is named', ['echo echo one > src']],
    ['what it cannot read itself', [writes('one'), 'chmod 000 src/answer.sh']],
    ['a folder that is closed', [writes('one'), 'chmod 000 src']],
    ['more bytes than may be', [writes('one'), 'head -c 1200000 /dev/zero > src/large']],
    ['a hole of many bytes', [writes('one'), 'truncate -s 1T src/hole']],
    ['a path that is as long as paths are', [writes('one'), deepest]],
    ['more files than may be', [writes('one'), 'cd src && seq 5000 | xargs touch']],
    ['more names than may be looked at', [writes('one'), 'cd out && seq 40000 | xargs -n 5000 touch']],
  ])('%s, left by the policy, is worth what the environment says', async (what, commands) => {
    const trace = `left_${what.replaceAll(' ', '_')}`;
    await play(trace, commands, { id: 'one' });
    expect(await grade(trace, { id: 'one' })).toMatchObject({ status: 200, body: { score: 0.25 } });
  });

  test('is what was there when all of the policy’s had ended: a late writer changes nothing', async () => {
    const late =
      "(trap '' TERM; while :; do echo 'echo one' > src/answer.sh; done) >/dev/null 2>&1 & " +
      "(setsid sh -c 'while :; do echo x > src/answer.sh; done' >/dev/null 2>&1 &) ; true";
    await play('late', [writes('two'), late], { id: 'two' });
    const graded = await grade('late', { id: 'two' });
    expect(graded).toMatchObject({ status: 200, body: { score: 0 } });
  });
});

describe.concurrent('a grader’s sandbox that is killed while it grades', () => {
  test('changes no score and loses no rollout: another one grades', async () => {
    await play('killed', [writes('slow')], { id: 'slow' });
    const graded = grade('killed', { id: 'slow' });
    const first = await isGraded('killed');
    process.kill(first.pid, 'SIGKILL');
    const another = { grader: { sandbox: expect.not.stringContaining(first.sandbox) } };
    await eventually(async () => ({ grader: await graderOf('killed') }), another);
    expect(await graded).toMatchObject({ status: 200, body: { score: 1 } });
    await eventually(async () => ({ grader: await graderOf('killed') }), { grader: undefined });
  });

  test('and so does the loss of the policy’s own, once the artifacts are out of it', async () => {
    await play('beyond', [writes('slow')], { id: 'slow' });
    const graded = grade('beyond', { id: 'slow' });
    await isGraded('beyond');
    await corral.killSandboxOf('beyond');
    expect(await graded).toMatchObject({ status: 200, body: { score: 1 } });
  });

  test('while the policy’s own, lost before that, is a discard as ever', async () => {
    await play('before', [writes('one')], { id: 'one' });
    await corral.killSandboxOf('before');
    expectFailure(await grade('before', { id: 'one' }), { ...toldLost, admitted: 'no' });
  });
});

test('more rollouts at once than graders may have sandboxes are all graded, and none waits for ever', async () => {
  const traces = Array.from({ length: 8 }, (_, index) => `burst_${index}`);
  await Promise.all(traces.map((trace) => play(trace, [writes('one')], { id: 'one' })));
  const scores = await Promise.all(traces.map((trace) => grade(trace, { id: 'one' })));
  expect(scores.map(({ body }) => body)).toMatchObject(traces.map(() => ({ score: 1 })));
});
