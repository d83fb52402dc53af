import { afterEach, beforeEach, expect, test } from 'vitest';
import { expectFailure, toldLost } from '../support/faces.ts';
import { processesOf } from '../support/left-behind.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '../support/fleet.ts';

/** Each test kills one part of a fleet of its own; what stopping it leaves on the machine fails the test. */
let corral: FleetOfTest;
beforeEach(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterEach(() => corral.stop());

const begin = () => corral.rft.call({ trace: 'begun', call: 'c1', command: 'echo of the first call > kept' });
const goOn = (call: string) => corral.rft.call({ trace: 'begun', call, command: 'cat kept' });
const other = (trace: string) => corral.rft.call({ trace, call: 'c1', command: 'echo hi' });

const kept = { status: 200, body: { output: 'of the first call\n' } };
const greeting = { status: 200, body: { output: 'hi\n' } };

test.each(['gateway', 'controller'] as const)(
  'kill -9 of the %s: running rollouts keep their sandbox and go on, new ones begin, grades come',
  async (part) => {
    expect((await begin()).status).toBe(200);
    const { sandbox } = await corral.sandboxOf('begun');
    await corral.killPart(part);
    expect(await goOn('c2')).toMatchObject(kept);
    expect((await corral.sandboxOf('begun')).sandbox).toBe(sandbox);
    const news = await Promise.all(['new_1', 'new_2', 'new_3', 'new_4'].map(other));
    for (const answer of news) expect(answer).toMatchObject(greeting);
    const sample = { output_text: '42', output_tools: [{ id: 'c1' }, { id: 'c2' }] };
    expect(await corral.rft.grade({ trace: 'begun', sample })).toMatchObject({
      status: 200,
      body: { score: 1 },
    });
  },
  60_000,
);

test('kill -9 of the controller while it is away: calls of rollouts that hold a sandbox are answered', async () => {
  expect((await begin()).status).toBe(200);
  const away = corral.killPart('controller');
  expect(await goOn('c2')).toMatchObject(kept);
  await away;
});

test('kill -9 of node: its sandboxes die with it, their rollouts are discarded as node_lost, new ones begin', async () => {
  expect((await begin()).status).toBe(200);
  const { pid } = await corral.sandboxOf('begun');
  await corral.killPart('node');
  const itsProcess = async () =>
    (await processesOf(corral.fleet.stateDir)).filter((line) => line.startsWith(`process ${pid}:`));
  await expect.poll(itsProcess).toEqual([]);
  expectFailure(await goOn('c2'), { ...toldLost, admitted: expect.any(String) as 'no' });
  const view = async () => (await corral.native.get('/v1/rollouts/begun')).body;
  expect(await view()).toMatchObject({
    verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'node_lost' },
  });
  const grade = await corral.rft.grade({ trace: 'begun', sample: { output_tools: [{ id: 'c1' }] } });
  expectFailure(grade, { ...toldLost, admitted: 'no' });
  expect(await other('new')).toMatchObject(greeting);
});

test('kill -9 of redis: what it held is written back from the sandboxes, rollouts go on, new ones begin', async () => {
  expect((await begin()).status).toBe(200);
  await corral.killPart('redis');
  expect(await goOn('c2')).toMatchObject(kept);
  expect(await other('new')).toMatchObject(greeting);
  const sample = { output_text: '42', output_tools: [{ id: 'c1' }, { id: 'c2' }] };
  expect(await corral.rft.grade({ trace: 'begun', sample })).toMatchObject({
    status: 200,
    body: { score: 1 },
  });
});
