import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFleetOfTest } from '../../support/fleet.ts';
import type { FleetOfTest } from '../../support/fleet.ts';

/** The disk is larger than the memory, and on this host files count as memory: a command can fill both. */
const greedy = `
name: greedy
sandbox: { image: host, memory: { request: 64Mi, limit: 96Mi }, disk: 256Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 1, max: 4 }
`;

let world: FleetOfTest;
beforeAll(async () => {
  world = await startFleetOfTest({ environments: { greedy } });
}, 120_000);
afterAll(() => world.stop());

const call = (trace: string, id: string, command: string) =>
  world.rft.call({ trace, call: id, command, environment: 'greedy' });

const outputOf = ({ body }: { readonly body: unknown }) => (body as { readonly output: string }).output;

test('a command that takes too much memory dies alone: text for the model, and the sandbox stays', async () => {
  const answer = await call('trace_alone', 'call_1', 'head -c 400M /dev/zero | tail');
  expect(answer).toMatchObject({ status: 200, body: { output: expect.stringContaining('out of memory') } });
  expect(await call('trace_alone', 'call_2', 'echo still here')).toMatchObject({
    status: 200,
    body: { output: 'still here\n' },
  });
  const { body } = await world.native.get('/v1/rollouts/trace_alone');
  expect(body).toMatchObject({ calls: [{ code: 'command_out_of_memory' }, { code: null }] });
});

test('a sandbox that goes down with its command is the model’s: 200 now and later, and it is graded', async () => {
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
  const later = await call('trace_down', 'call_later', 'echo');
  expect(later).toMatchObject({ status: 200, body: { output: expect.stringContaining('Nothing ran') } });
  expect(await world.native.get('/v1/rollouts/trace_down')).toMatchObject({
    body: { verdict: { kind: 'scorable' }, taint: null },
  });
  const grade = await world.rft.grade({ trace: 'trace_down', environment: 'greedy' });
  expect(grade).toEqual(expect.objectContaining({ status: 200, body: { score: 1 } }));
}, 60_000);
