import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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

/** The folder of a rollout's sandbox in the kernel's memory accounting. */
async function groupOf(trace: string): Promise<string> {
  const { pid } = await world.sandboxOf(trace);
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n');
  const v1 = lines.find((line) => line.includes(':memory:'));
  const path = (v1 ?? lines.find((line) => line.startsWith('0::')) ?? '').split(':').slice(2).join(':');
  return join('/sys/fs/cgroup', v1 === undefined ? '' : 'memory', path);
}

/** That of all of this fleet's groups. */
const fleetGroupOf = async (trace: string): Promise<string> => dirname(await groupOf(trace));

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

/** How often the kernel has killed for memory in the sandbox of a rollout. */
async function killsIn(trace: string): Promise<number> {
  const group = await groupOf(trace);
  const files = ['memory.oom_control', 'memory.events'].map((name) => join(group, name));
  const text = readFileSync(files.find((file) => existsSync(file)) ?? '', 'utf8');
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1]);
}

test('a process that a call left behind, killed by the machine’s want of memory: the next call is 503, and no grader sees the rest', async () => {
  expect(await call('trace_between', 'c1', 'true')).toMatchObject({ status: 200 });
  await whileShort('trace_between', someBytes, async () => {
    await call('trace_between', 'c2', `(sleep 1; ${greedy}) > /dev/null 2>&1 & echo left`);
    await expect.poll(() => killsIn('trace_between'), { timeout: 20_000 }).toBeGreaterThan(0);
  });
  expect(await call('trace_between', 'c3', 'echo still here')).toMatchObject({ status: 503 });
  await expectTheMachines('trace_between');
});

test('the same at the sandbox’s own limit is the policy’s', async () => {
  const heavy = 'head -c 900M /dev/zero | tail > /dev/null';
  expect(
    await call('trace_own_between', 'c1', `(sleep 1; ${heavy}) > /dev/null 2>&1 & echo left`),
  ).toMatchObject({ status: 200 });
  await expect.poll(() => killsIn('trace_own_between'), { timeout: 20_000 }).toBeGreaterThan(0);
  expect(await call('trace_own_between', 'c2', 'echo still here')).toMatchObject({ status: 200 });
  expect(await world.rft.grade({ trace: 'trace_own_between', environment: 'roomy' })).toMatchObject({
    status: 200,
  });
});

test('a grader that the machine’s want of memory killed: 503, and no on_exit and no on_out_of_memory', async () => {
  expect(await call('trace_graded', 'c1', 'touch /dev/shm/heavy')).toMatchObject({ status: 200 });
  const grade = await whileShort('trace_graded', someBytes, () =>
    world.rft.grade({ trace: 'trace_graded', environment: 'roomy' }),
  );
  expect(grade).toMatchObject({ status: 503 });
  await expectTheMachines('trace_graded');
});

/** A process named as the kernel's message begins crashes in a mapped file that is named as the message goes on. */
const forge = `
import ctypes, os
base = open('/proc/self/uid_map').read().split()[1]
name = f': Killed process 1 (x) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:0kB, UID:{base} pgtables:1kB oom_score_adj:0'
os.chdir('/tmp')
open(name, 'wb').write(bytes.fromhex('${process.arch === 'x64' ? 'c70425000000000000000000' : '1f0000f91f0000f9'}').ljust(4096))
if os.fork() == 0:
    libc = ctypes.CDLL(None)
    libc.prctl(15, b'Out of memory', 0, 0, 0)
    libc.mmap.restype = ctypes.c_void_p
    ctypes.CFUNCTYPE(None)(libc.mmap(None, 4096, 5, 2, os.open(name, os.O_RDONLY), 0))()
print(base, os.wait()[1])
`;

test('a kill that the policy writes into the kernel log discards nothing', async () => {
  const answer = await call('trace_forged', 'c1', `cat > forge.py <<'END'\n${forge}\nEND\npython3 forge.py`);
  const [base, signal] = ((answer.body as { output: string }).output ?? '').trim().split(' ');
  expect({ answer, signal }).toMatchObject({
    answer: { status: 200 },
    signal: expect.stringMatching(/11|139/u),
  });
  const log = execFileSync('dmesg', { encoding: 'utf8', maxBuffer: 2 ** 26 });
  expect(log).toMatch(
    new RegExp(`^.*Out of memory\\[\\d+\\]: .*: Killed process 1 \\(x\\).*UID:${base} `, 'mu'),
  );
  // The node looks into the log each second, and before it judges how a sandbox ended.
  await sleep(2_500);
  expect(await call('trace_forged', 'c2', 'echo goes on')).toMatchObject({ body: { output: 'goes on\n' } });
  expect(await world.rft.grade({ trace: 'trace_forged', environment: 'roomy' })).toMatchObject({
    status: 200,
  });
});
