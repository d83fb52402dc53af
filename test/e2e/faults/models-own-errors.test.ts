import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/** Small enough that a command can use all of it up within a second. */
const environment = `
name: own-errors
sandbox: { image: host, disk: 16Mi, memory: 96Mi, processes: 32 }
tools:
  shell: { builtin: shell, timeout: 5s }
  own: { command: [./own, '{command}'], parameters: { command: string } }
setup: [[ln, -s, /bin/echo, own]]
grader: { kind: text, reference: item.answer }
pool: { min_ready: 1, max: 2 }
`;

let corral: JoinedFleet;
beforeAll(async () => {
  corral = await joinSharedFleet({ 'own-errors': environment });
});
afterAll(() => corral.leave());

const trace = 'errs';
const shell = (call: string, command: string) => corral.rft.call({ trace, call, command });
const own = (call: string) => corral.rft.call({ trace, call, tool: 'own', command: 'x' });

/** All of it in one rollout, one after another, so that each also shows that the one before left the sandbox usable. */
const cases = [
  ['exit code 1', 'exit 1', '[exit code 1]'],
  ['exit code 124, as timeout(1) gives', 'exit 124', '[exit code 124]'],
  ['exit code 126, a file that cannot be run', './log', '[exit code 126]'],
  ['exit code 127, a program that is not there', 'not-there', '[exit code 127]'],
  ['exit code 137, which is no out of memory', 'exit 137', '[exit code 137]'],
  ['exit code 255', 'exit 255', '[exit code 255]'],
  ['a signal to itself', 'kill -TERM $$', '[killed by signal SIGTERM]'],
  ['kill -9 of itself, which is no lost sandbox', 'kill -9 $$', '[killed by signal SIGKILL]'],
  ['a shell that is no shell script', 'exec ./log', '[exit code 126]'],
  ['a full disk', 'head -c 1G /dev/zero > big; code=$?; rm -f big; exit $code', 'No space left on device'],
  ['all processes used up', 'for i in $(seq 200); do sleep 9 & done 2>&1', 'Cannot fork'],
  // It also takes along what the one before left running.
  ['kill -9 of everything it may', 'kill -9 -1', '[exit code 0]'],
  ['more memory than there is', 'exec tail /dev/zero', '[out of memory'],
  ['bytes that are no text', "printf 'a\\377b'", 'a\uFFFDb'],
] as const;

const idOf = (name: string) => name.replaceAll(/[^a-z0-9]+/gi, '_');

test.each(cases)(
  '%s is told to the model with 200, and the sandbox stays usable',
  async (name, command, text) => {
    const answer = await shell(idOf(name), `echo x >> log; ${command}`);
    expect(answer).toMatchObject({ status: 200, body: { output: expect.stringContaining(text) } });
    expect(await shell(`after_${idOf(name)}`, 'echo usable')).toMatchObject({
      status: 200,
      body: { output: 'usable\n' },
    });
  },
);

test('an exit code that looks like an out of memory is recorded as what it was, by the kernel’s own account', async () => {
  const { body } = await corral.native.get(`/v1/rollouts/${trace}`);
  expect(body).toMatchObject({ taint: null, verdict: { kind: 'scorable' } });
  const { calls } = body as {
    readonly calls: readonly { readonly call_id: string; readonly code: string | null }[];
  };
  const codeOf = (call: string) => calls.find(({ call_id }) => call_id === idOf(call))?.code;
  expect(codeOf(cases[4][0])).toBeNull();
  expect(codeOf('more memory than there is')).toBe('command_out_of_memory');
});

test('a tool whose own program the model has removed: text for it, and the exit code of a missing program', async () => {
  expect(await own('there')).toMatchObject({ status: 200, body: { output: 'x\n' } });
  expect(await shell('removes', 'rm own')).toMatchObject({ status: 200 });
  expect(await own('missing')).toMatchObject({
    status: 200,
    body: { output: 'there is no program ./own\n[exit code 127]' },
  });
});

test('a command that never ends is stopped at its timeout, with what it had printed and with its children', async () => {
  const answer = await shell('hung', 'echo begun; sleep 300 & sleep 300');
  expect(answer).toMatchObject({ status: 200, body: { output: 'begun\n[timed out after 5 s]' } });
  const left = await shell('after_hung', 'grep -l sleep /proc/[0-9]*/comm | wc -l');
  expect(left).toMatchObject({ body: { output: '0\n' } });
});

test('after all of it the rollout is scored', async () => {
  expect(await corral.rft.grade({ trace })).toMatchObject({ status: 200, body: { score: 1 } });
});
