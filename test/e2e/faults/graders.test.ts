import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/** A grader that ends badly is discarded here, so that a score can only come of a number that it wrote. */
const grading = (name: string, script: string, timeout = '30s') => `
name: ${name}
sandbox: { image: host, disk: 64Mi, memory: 96Mi, processes: 64 }
tools: { shell: { builtin: shell } }
grader: { kind: command, timeout: ${timeout}, command: [sh, -c, ${JSON.stringify(script)}], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 1, max: 8 }
`;

const score = '"$CORRAL_SCORE_FILE"';
const environments = {
  crashes: grading('crashes', 'kill -SEGV $$'),
  exits: grading('exits', `echo 1 > ${score}; exit 3`),
  hangs: grading('hangs', `echo 1 > ${score}; sleep 60`, '1s'),
  nan: grading('nan', `echo NaN > ${score}`),
  infinite: grading('infinite', `echo Infinity > ${score}`),
  silent: grading('silent', 'true'),
  'long-line': grading('long-line', `head -c 50M /dev/zero | tr '\\\\0' 1 > ${score}`),
  talkative: grading('talkative', `head -c 50M /dev/zero | tr '\\\\0' x; echo 0.5 > ${score}`),
  slow: grading('slow', `while ! test -e /workspace/go; do sleep 0.05; done; echo 1 > ${score}`),
};

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments });
});
afterAll(() => corral.stop());

const begin = async (environment: string) =>
  expect(
    await corral.rft.call({ trace: environment, call: 'c1', command: 'echo hi', environment }),
  ).toMatchObject({ status: 200 });
const grade = (environment: string) => corral.rft.grade({ trace: environment, environment });

const failed = {
  status: 503,
  code: 'grader_failed',
  blame: 'infrastructure',
  retryable: true,
  tainted: false,
  admitted: expect.any(String),
} as const;

test.each(['crashes', 'exits', 'hangs', 'nan', 'infinite', 'silent', 'long-line'] as const)(
  'a grader that ends as %s: 503 and never a score, and the rollout can be graded again',
  async (environment) => {
    await begin(environment);
    expectFailure(await grade(environment), { ...failed, rollout_id: environment });
    const { body } = await corral.native.get(`/v1/rollouts/${environment}`);
    expect(body).toMatchObject({ score: null, taint: null });
  },
);

test('a grader that prints 50 MB and then writes its score: the score counts', async () => {
  await begin('talkative');
  expect(await grade('talkative')).toMatchObject({ status: 200, body: { score: 0.5 } });
});

test('a grader that loses its sandbox: 503, the rollout is lost, and the repeat says so too', async () => {
  await begin('slow');
  const graded = grade('slow');
  await expect
    .poll(async () => (await corral.native.get('/v1/rollouts/slow')).body)
    .toMatchObject({ state: 'grading' });
  await corral.killSandboxOf('slow');
  const first = await graded;
  expect(first).toMatchObject({ status: 503, body: { error: { blame: 'infrastructure' } } });
  const lost = { status: 503, code: 'sandbox_lost', blame: 'infrastructure', admitted: 'no' } as const;
  expectFailure(await grade('slow'), { ...lost, retryable: false, tainted: true });
});
