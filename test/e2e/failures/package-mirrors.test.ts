import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import type { PreflightReport } from '#cli/preflight/report.ts';
import { runCorral } from '#test/support/command-line.ts';
import { expectFailure } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { type PackageMirror, startPackageMirror } from '#test/support/package-mirror.ts';

/* What an outage of a package mirror does to a task is never its score. */

/** Its grader passes if the package is there. */
const environment = (name: string, mirror: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, network: { mirrors: { pypi: "${mirror}/simple/" } } }
tools: { shell: { builtin: shell } }
grader:
  kind: command
  command: [sh, -c, 'curl -sf -o /dev/null "$CORRAL_MIRROR_PYPI"toy/ && echo 1 > "$CORRAL_SCORE_FILE" || echo 0 > "$CORRAL_SCORE_FILE"']
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
pool: { min_ready: 0, max: 4 }
`;

const ask = 'curl -s -o /dev/null -w "%{http_code}" "$CORRAL_MIRROR_PYPI"toy/';

let mirror: PackageMirror;
let corral: FleetOfTest;
beforeAll(async () => {
  mirror = await startPackageMirror();
  const closed = await closedPort();
  vi.stubEnv('CORRAL_PRIVATE_ADDRESSES', '127.0.0.1/32');
  corral = await startFleetOfTest({
    environments: {
      mirrored: environment('mirrored', mirror.origin),
      unreachable: environment('unreachable', `http://127.0.0.1:${closed}`),
    },
    policy: `networks: [none, mirrors]\nmirrors: ["${mirror.origin}/", "http://127.0.0.1:${closed}/"]\n`,
  });
}, 120_000);
afterEach(() => mirror.become('works'));
afterAll(async () => {
  await corral.stop();
  await mirror[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
});

/** A port of this machine's loopback where nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('a server of TCP has a port');
  return address.port;
}

test('with a mirror that answers a rollout has its own score', async () => {
  await corral.native.open('works', 'mirrored');
  expect((await corral.native.shell('works', 'c1', ask)).body).toMatchObject({ output: '200' });
  expect((await corral.native.post('/v1/rollouts/works/grade', {})).body).toMatchObject({ score: 1 });
});

test('a command that asked during an outage discards its rollout with a mark, whatever it made of it', async () => {
  await corral.native.open('asks', 'mirrored');
  await corral.native.shell('asks', 'c1', ask);
  mirror.become('answers 503');
  const answer = await corral.native.shell('asks', 'c2', ask);
  expectFailure(answer, {
    status: 503,
    code: 'dependency_failed',
    blame: 'infrastructure',
    retryable: false,
    tainted: true,
    admitted: 'yes',
  });
  const view = await corral.native.get('/v1/rollouts/asks');
  expect(view.body).toMatchObject({ score: null, verdict: { kind: 'discard', code: 'dependency_failed' } });
  expect(JSON.stringify(view.body)).toContain('"suspected":"dependency"');
});

test('a command that did not ask during an outage has its own result', async () => {
  await corral.native.open('idle', 'mirrored');
  mirror.become('answers 503');
  expect((await corral.native.shell('idle', 'c1', 'exit 3')).body).toMatchObject({ exit_code: 3 });
});

test('a grader that asked during an outage gives no score: three turns, then a marked discard', async () => {
  await corral.native.open('graded', 'mirrored');
  await corral.native.shell('graded', 'c1', ':');
  mirror.become('answers 429');
  for (let turn = 0; turn < 3; turn += 1) {
    const grade = await corral.native.post('/v1/rollouts/graded/grade', {});
    expect(grade).toMatchObject({ status: 503, body: { error: { code: 'grader_failed' } } });
  }
  const view = await corral.native.get('/v1/rollouts/graded');
  expect(view.body).toMatchObject({ score: null, verdict: { kind: 'discard', code: 'grader_failed' } });
  expect(JSON.stringify(view.body)).toContain('"suspected":"command"');
});

test('preflight names a mirror that cannot be reached', async () => {
  const { gatewayUrl, apiKey } = corral.fleet;
  const there = ['--url', gatewayUrl, '--key', apiKey, '--hold', '0'];
  const { exitCode, printed } = await runCorral(['preflight', '--json', 'unreachable', ...there]);
  expect(exitCode).not.toBe(exitCodes.done);
  const { checks } = JSON.parse(printed) as PreflightReport;
  expect(checks).toMatchObject([
    {
      what: 'a sandbox',
      ok: false,
      detail: expect.stringMatching(
        /a package mirror cannot be reached: http:\/\/127\.0\.0\.1:\d+\/simple\/ \(ECONNREFUSED\)/,
      ),
    },
  ]);
});
