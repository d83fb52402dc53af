import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/*
 * The machine runs out of memory while its sandboxes are below their limits. A limit on the group above all of them stands
 * for the machine's: the kernel then kills as it does for the whole of it, and a test may not end its own machine.
 */

const roomy = `
name: roomy
sandbox: { image: host, memory: { request: 64Mi, limit: 512Mi }, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader:
  kind: command
  command: [sh, -c, 'if [ -e /dev/shm/heavy ]; then head -c 400M /dev/zero | tail > /dev/null; fi; echo 1 > "$CORRAL_SCORE_FILE"']
  timeout: 20s
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
pool: { min_ready: 1, max: 2 }
`;

let world: FleetOfTest;
beforeAll(async () => {
  world = await startFleetOfTest({ environments: { roomy } });
});
afterAll(() => world.stop());

const call = (trace: string, id: string, command: string) =>
  world.rft.call({ trace, call: id, command, environment: 'roomy' });

const greedy = 'head -c 400M /dev/zero | tail > /dev/null; echo done';

/** The folder of all of this fleet's groups in the kernel's memory accounting. */
async function fleetGroupOf(trace: string): Promise<string> {
  const { pid } = await world.sandboxOf(trace);
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n');
  const v1 = lines.find((line) => line.includes(':memory:'));
  const path = (v1 ?? lines.find((line) => line.startsWith('0::')) ?? '').split(':').slice(2).join(':');
  return dirname(join('/sys/fs/cgroup', v1 === undefined ? '' : 'memory', path));
}

/** Runs `body` while the machine has as much memory left as this; the limit is lifted in the end. */
async function whileShort<Result>(
  trace: string,
  leftBytes: number,
  body: () => Promise<Result>,
): Promise<Result> {
  const group = await fleetGroupOf(trace);
  const isV1 = existsSync(join(group, 'memory.limit_in_bytes'));
  const limit = join(group, isV1 ? 'memory.limit_in_bytes' : 'memory.max');
  const used = Number(readFileSync(join(group, isV1 ? 'memory.usage_in_bytes' : 'memory.current'), 'utf8'));
  writeFileSync(limit, String(used + leftBytes));
  try {
    return await body();
  } finally {
    writeFileSync(limit, isV1 ? '-1' : 'max');
  }
}

const someBytes = 48 * 1024 * 1024;

/** No zero and no text for the model: 503 to the end, and the run says why. */
async function expectTheMachines(trace: string): Promise<void> {
  expect(await world.rft.grade({ trace, environment: 'roomy' })).toMatchObject({ status: 503 });
  expect((await world.native.get(`/v1/rollouts/${trace}`)).body).toMatchObject({
    taint: { code: 'sandbox_lost' },
    verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'node_out_of_memory' },
    broken: null,
    score: null,
  });
}

test('a command that the machine’s want of memory killed: 503, and never the model’s', async () => {
  expect(await call('trace_command', 'c1', 'true')).toMatchObject({ status: 200 });
  const answer = await whileShort('trace_command', someBytes, () => call('trace_command', 'c2', greedy));
  expect(answer).toMatchObject({ status: 503 });
  await expectTheMachines('trace_command');
});

test('the same command under the sandbox’s own limit: text for the model, as ever', async () => {
  expect(await call('trace_own', 'c1', 'head -c 900M /dev/zero | tail > /dev/null; echo done')).toMatchObject(
    {
      status: 200,
      body: { output: expect.stringContaining('out of memory') },
    },
  );
  expect(await world.rft.grade({ trace: 'trace_own', environment: 'roomy' })).toMatchObject({ status: 200 });
});

test('a whole sandbox that the machine’s want of memory took down after its call: 503, and never the model’s', async () => {
  expect(await call('trace_whole', 'c1', 'true')).toMatchObject({ status: 200 });
  // The kernel's first choice is now the daemon, and nothing else.
  const { pid } = await world.sandboxOf('trace_whole');
  const daemon = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  writeFileSync(`/proc/${daemon}/oom_score_adj`, '1000');
  const hog = `echo 0 > /proc/self/oom_score_adj; sleep 1; ${greedy}`;
  await whileShort('trace_whole', someBytes, async () => {
    await call('trace_whole', 'c2', `(${hog}) > /dev/null 2>&1 & echo left`);
    await expect
      .poll(async () => (await world.native.get('/v1/rollouts/trace_whole')).body, { timeout: 20_000 })
      .toMatchObject({ taint: { code: 'sandbox_lost' } });
  });
  await expectTheMachines('trace_whole');
});

test('a grader that the machine’s want of memory killed: 503, and no on_exit and no on_out_of_memory', async () => {
  expect(await call('trace_graded', 'c1', 'touch /dev/shm/heavy')).toMatchObject({ status: 200 });
  const grade = await whileShort('trace_graded', someBytes, () =>
    world.rft.grade({ trace: 'trace_graded', environment: 'roomy' }),
  );
  expect(grade).toMatchObject({ status: 503 });
  await expectTheMachines('trace_graded');
});
