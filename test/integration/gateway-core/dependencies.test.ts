import { expect, test } from 'vitest';
import { callId, rolloutId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { eventually } from '#test/support/eventually.ts';
import { caller, CoreWorld, lookUpDependency, lookUpTwice } from '#test/support/core-world.ts';
import { ownerOf, RecoveryWorld } from '../recovery/world.ts';

/*
 * `look_up` reports by exit code 75 that its backend failed. Anything in its sandbox can end with that code, so only the gateways' own
 * probes of the backend decide what it means.
 */

const reporting = answering({ stderr: 'index is down', ending: { kind: 'exited', exitCode: 75 } });
const down = 'answered 503';
const failed = { code: 'dependency_failed', admitted: 'yes' };
const modelsOwn = { outcome: 'completed', exitCode: 75, code: null };

const lookUp = (world: CoreWorld, call = 'c1', core = world.wired.core) =>
  world.call('a', call, 'look_up', { command: 'x' }, core);

const discardedOf = async ({ state }: CoreWorld) =>
  (await state.claims.find(ownerOf('a'), 1))?.discarded ?? null;

const settled = (world: CoreWorld, call: string) =>
  world.events.find((event) => event.kind === 'call_settled' && event.summary.call === call);

/** Of a fleet whose gateways have reached the backend before. */
async function startReached(given: Parameters<typeof CoreWorld.start>[0] = {}): Promise<CoreWorld> {
  const world = await CoreWorld.start(given);
  await world.ready();
  await lookUp(world, 'c0');
  await eventually(() => recordOf(world), { goodAtMs: expect.any(Number) as number });
  world.link.behaviour = () => reporting;
  return world;
}

const recordOf = ({ state }: CoreWorld) =>
  state.dependencies.read(lookUpDependency, rolloutKey(ownerOf('a')), 0);

test.concurrent('a failed probe confirms what the tool reports: the rollout is discarded, without a mark', async () => {
  await using world = await startReached();
  world.backend.state = down;
  await expect(lookUp(world)).rejects.toMatchObject(failed);
  expect(await discardedOf(world)).toMatchObject({
    code: 'dependency_failed',
    suspected: null,
    evidence: { tool: 'look_up', exit_code: 75, said: 'index is down', probed: down },
  });
  expect(settled(world, 'c1')).toMatchObject({ backend: 'failed' });
});

test.concurrent('a discard for package mirrors is always marked: a mirror may refuse what one sandbox asked, and a policy may write these counts', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const mirrors = { asked: 1, failed: 1, confirmed: 1, refused: 0, lost: 0, doubt: null };
  world.link.behaviour = () => answering({ mirrors });
  await expect(world.sh('a', 'c1', 'pip install toy')).rejects.toMatchObject(failed);
  expect(await discardedOf(world)).toMatchObject({ code: 'dependency_failed', suspected: 'dependency' });
});

test.concurrent('good probes deny what the tool reports: the exit code is the model’s, marked, and the rollout is graded', async () => {
  await using world = await startReached();
  expect(await lookUp(world)).toMatchObject(modelsOwn);
  expect(settled(world, 'c1')).toMatchObject({ backend: 'good', evidence: { suspected: 'dependency' } });
  expect(await world.grade('a', 'yes')).toMatchObject({ score: 1 });
});

test.concurrent('a failed probe says nothing of a call that reports nothing', async () => {
  await using world = await startReached();
  world.backend.state = down;
  world.link.behaviour = () => answering({ ending: { kind: 'exited', exitCode: 1 } });
  expect(await lookUp(world)).toMatchObject({ outcome: 'completed', exitCode: 1 });
});

test.concurrent('probes that no gateway can make prove nothing: the rollout is discarded, with a mark', async () => {
  await using world = await startReached();
  world.backend.isReachable = false;
  await expect(lookUp(world)).rejects.toMatchObject(failed);
  expect(await discardedOf(world)).toMatchObject({ code: 'dependency_failed', suspected: 'dependency' });
});

test.concurrent('a backend that no gateway has ever reached may only be out of reach: discarded, with a mark', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  world.backend.state = down;
  world.link.behaviour = () => reporting;
  await expect(lookUp(world)).rejects.toMatchObject(failed);
  expect(await discardedOf(world)).toMatchObject({ suspected: 'dependency' });
});

test.concurrent('a run that makes most of the calls may have overloaded the backend: discarded, with a mark', async () => {
  await using world = await startReached();
  world.link.behaviour = () => answering({ stdout: 'found' });
  for (let call = 1; call < 8; call += 1) await lookUp(world, `before-${call}`);
  world.link.behaviour = () => reporting;
  world.backend.state = down;
  await expect(lookUp(world)).rejects.toMatchObject(failed);
  expect(await discardedOf(world)).toMatchObject({
    suspected: 'dependency',
    evidence: { doubt: expect.stringMatching(/its run makes most of the backend's calls/) as string },
  });
});

test.concurrent('Redis that forgot the probes: the answer is judged again, nothing is scored, and it is marked', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  world.link.behaviour = () => reporting;
  world.core.backend.state = down;
  await expect(lookUp(world.core)).rejects.toMatchObject(failed);
  await world.forgetAll();
  await world.recover();
  world.core.backend.state = null;
  await expect(world.core.grade('a', 'yes', ['c1'])).rejects.toMatchObject({ code: 'dependency_failed' });
  expect(await discardedOf(world.core)).toMatchObject({ suspected: 'dependency' });
});

/** Of a tool that may run twice. */
const idempotent = () => startReached({ tools: { look_up: lookUpTwice } });

const ranFor = (world: CoreWorld, call: string) =>
  world.link.ran.filter((one) => one === call || one.startsWith('corral again'));

test.concurrent('an idempotent call runs once more: its second answer is final, and it is one call of its budget', async () => {
  await using world = await idempotent();
  const answers = [reporting, answering({ stdout: 'found' })];
  world.link.behaviour = () => answers.shift() ?? reporting;
  expect(await lookUp(world)).toMatchObject({ callId: 'c1', output: 'found', exitCode: 0 });
  expect(await lookUp(world)).toMatchObject({ output: 'found', replayed: true });
  expect(ranFor(world, 'c1')).toHaveLength(2);
  const record = await world.state.claims.find(ownerOf('a'), 1);
  expect(record).toMatchObject({ calls: 2, inFlight: 0, discarded: null });
});

test.concurrent('an idempotent call that reports the same again is the model’s', async () => {
  await using world = await idempotent();
  expect(await lookUp(world)).toMatchObject(modelsOwn);
  expect(ranFor(world, 'c1')).toHaveLength(2);
});

test.concurrent('a backend that fails during the second run discards the rollout', async () => {
  await using world = await idempotent();
  world.link.behaviour = (request) => {
    if (ranFor(world, 'c1').length === 2) world.backend.state = down;
    return request.label === 'look_up' ? reporting : answering({});
  };
  await expect(lookUp(world)).rejects.toMatchObject(failed);
  expect(await discardedOf(world)).toMatchObject({ suspected: null });
});

test.concurrent('another gateway that attaches while the call waits for a probe hears its second run, too', async () => {
  await using world = await idempotent();
  const answers = [reporting, answering({ stdout: 'found' })];
  world.link.behaviour = () => answers.shift() ?? reporting;
  const other = world.gateway();
  const call = lookUp(world);
  await eventually(async () => ranFor(world, 'c1'), ['c1']);
  const named = { rollout: rolloutId('a'), attempt: null };
  const attached = other.core.attach(caller, named, callId('c1'), world.waitMs);
  expect(await call).toMatchObject({ output: 'found' });
  expect(await attached).toMatchObject({ output: 'found' });
  expect(ranFor(world, 'c1')).toHaveLength(2);
  await other.close();
});

test.concurrent('gateways probe in turns, once an interval, and only while a call may report something', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  world.link.behaviour = async () => ended.then(() => answering({ stdout: 'found' }));
  const other = world.gateway();
  const calls = [lookUp(world, 'c1'), lookUp(world, 'c2', other.core)];
  await eventually(async () => (await recordOf(world)).results.slice(0, 3), [{}, {}, {}]);
  end();
  await Promise.all(calls);
  await Promise.all([other.close(), world.wired.close()]);
  const beganAtMs = (await recordOf(world)).results.map((one) => one.beganAtMs);
  const gaps = beganAtMs.slice(1).map((atMs, index) => atMs - (beganAtMs[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
  expect(world.backend.probed).toHaveLength(beganAtMs.length);
});
