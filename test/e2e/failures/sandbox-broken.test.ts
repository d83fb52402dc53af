import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '#test/support/eventually.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/** The disk is larger than the memory, and on this host files count as memory: a command can fill both. */
const greedy = `
name: greedy
sandbox: { image: host, memory: { request: 64Mi, limit: 96Mi }, disk: 256Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 1, max: 8 }
`;

/** Commands have the id of the daemon, and can kill it. */
const rooted = greedy
  .replace('name: greedy', 'name: rooted')
  .replace('image: host,', 'image: host, run_as: root,');

let world: FleetOfTest;
beforeAll(async () => {
  world = await startFleetOfTest({ environments: { greedy, rooted } });
});
afterAll(() => world.stop());

const call = (trace: string, id: string, command: string, environment = 'greedy') =>
  world.rft.call({ trace, call: id, command, environment });

const viewOf = async (trace: string) => (await world.native.get(`/v1/rollouts/${trace}`)).body;

/** What a sandbox that its policy broke means for the trainer: text now and later, no taint, and a score. */
async function expectItsOwnDoing(trace: string, environment: string): Promise<void> {
  const later = await call(trace, 'call_later', 'echo', environment);
  expect(later).toMatchObject({ status: 200, body: { output: expect.stringContaining('Nothing ran') } });
  expect(await world.native.get(`/v1/rollouts/${trace}`)).toMatchObject({
    body: { verdict: { kind: 'scorable' }, taint: null },
  });
  const grade = await world.rft.grade({ trace, environment });
  expect(grade).toEqual(expect.objectContaining({ status: 200, body: { score: 1 } }));
}

const outputOf = ({ body }: { readonly body: unknown }) => (body as { readonly output: string }).output;

test.concurrent('a command that takes too much memory dies alone: text for the model, and the sandbox stays', async () => {
  const answer = await call('trace_alone', 'call_1', 'head -c 400M /dev/zero | tail');
  expect(answer).toMatchObject({ status: 200, body: { output: expect.stringContaining('out of memory') } });
  expect(await call('trace_alone', 'call_2', 'echo still here')).toMatchObject({
    status: 200,
    body: { output: 'still here\n' },
  });
  const { body } = await world.native.get('/v1/rollouts/trace_alone');
  expect(body).toMatchObject({ calls: [{ code: 'command_out_of_memory' }, { code: null }] });
});

test.concurrent('a command that ends its own sandbox is the model’s failure: 200 now and later, and the rollout is graded', async () => {
  let output = '';
  // What the command wrote stays when it dies; in the end the kernel has only the daemon left to take.
  for (let tries = 0; tries < 50 && !output.includes('went down'); tries += 1) {
    const answer = await call('trace_down', `fill_${tries}`, 'head -c 200M /dev/zero >> full');
    expect(answer.status).toBe(200);
    output = outputOf(answer);
  }
  expect(output).toContain(
    'the sandbox went down while this command ran (a command used up all of its memory)',
  );
  await expectItsOwnDoing('trace_down', 'greedy');
});

test.concurrent('a background job that fills the memory after its call has ended: the model’s, and it is graded', async () => {
  // Its score is put back to the daemon's own, so that the kernel takes the larger of the two.
  const hog = 'sleep 1; echo 0 > /proc/self/oom_score_adj; while :; do head -c 200M /dev/zero >> full; done';
  const left = `(${hog}) > /dev/null 2>&1 & echo left`;
  expect(await call('trace_left', 'call_1', left)).toMatchObject({ status: 200, body: { output: 'left\n' } });
  await eventually(() => viewOf('trace_left'), {
    broken: 'a command used up all of its memory',
    in_flight: 0,
  });
  await expectItsOwnDoing('trace_left', 'greedy');
});

test.concurrent('the same where the end of the sandbox is heard of seconds later, on a busy machine: still the model’s', async () => {
  expect(await call('trace_late', 'call_1', 'true')).toMatchObject({ status: 200 });
  // The node hears of a sandbox's end from bubblewrap outside of it.
  const { pid } = await world.sandboxOf('trace_late');
  const outer = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
  process.kill(outer, 'SIGSTOP');
  // Of what is left beside this file, the daemon has most. It ends with the daemon, so that nothing more is killed.
  const daemon = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  const [, inside] = /^NSpid:.*\t(\d+)$/mu.exec(readFileSync(`/proc/${daemon}/status`, 'utf8')) ?? [];
  const fill = `head -c 50M /dev/zero > /dev/shm/full; while [ -d /proc/${inside} ]; do head -c 200M /dev/zero | tail; done`;
  const hog = `echo 0 > /proc/self/oom_score_adj; timeout 20 sh -c '${fill}'`;
  await call('trace_late', 'call_2', `(${hog}) > /dev/null 2>&1 & echo left`);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  process.kill(outer, 'SIGCONT');
  await eventually(() => viewOf('trace_late'), { broken: 'a command used up all of its memory' });
  await expectItsOwnDoing('trace_late', 'greedy');
});

test.concurrent('all processes killed together for memory, as a kubelet on cgroup v2 does: the model’s, as when only some are', async () => {
  expect(await call('trace_all', 'call_1', 'true')).toMatchObject({ status: 200 });
  // The kernel's first choice is now process 1 of the namespace, and with it goes everything else at once.
  const { pid } = await world.sandboxOf('trace_all');
  writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  expect(await call('trace_all', 'call_2', 'head -c 200M /dev/zero >> full')).toMatchObject({
    status: 200,
    body: { output: expect.stringContaining('(a command used up all of its memory)') },
  });
  await expectItsOwnDoing('trace_all', 'greedy');
});

test.concurrent('a command that kills the daemon, where it runs as root: the model’s, 200 now and later, and it is graded', async () => {
  expect(await call('trace_root', 'call_1', 'id -u', 'rooted')).toMatchObject({
    status: 200,
    body: { output: '0\n' },
  });
  const killing = await call('trace_root', 'call_2', 'kill -9 -1; sleep 60', 'rooted');
  expect(killing).toMatchObject({
    status: 200,
    body: { output: expect.stringContaining('(a command killed the process that runs commands)') },
  });
  await expectItsOwnDoing('trace_root', 'rooted');
});

test.concurrent('a job left behind that asks the daemon to stop, where it runs as root: the model’s, and it is graded', async () => {
  const stopping = '(sleep 1; kill -TERM -1) > /dev/null 2>&1 & echo left';
  expect(await call('trace_stop', 'call_1', stopping, 'rooted')).toMatchObject({
    body: { output: 'left\n' },
  });
  await eventually(() => viewOf('trace_stop'), { broken: 'a command killed the process that runs commands' });
  await expectItsOwnDoing('trace_stop', 'rooted');
});

test.concurrent('the same command as another user kills only its own processes, and the sandbox stays', async () => {
  const killing = await call('trace_user', 'call_1', 'kill -9 -1; echo tried');
  expect(killing).toMatchObject({ status: 200, body: { output: expect.stringContaining('tried') } });
  expect(await call('trace_user', 'call_2', 'echo usable')).toMatchObject({ body: { output: 'usable\n' } });
});
