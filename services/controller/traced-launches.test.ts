import { expect, test } from 'vitest';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { LaunchEnd } from '#src/ports/launch-queue.ts';
import { noTracer } from '#src/ports/tracer.ts';
import { launchRoot, rolloutRoot } from '#src/tracing/names.ts';
import { fakeJob, fakeLaunch } from '#test/fakes/launch-queue.ts';
import { createFakeTracer, type FakeTracer } from '#test/fakes/tracer.ts';
import { tracedLaunches } from './traced-launches.ts';

const sandbox = sandboxId('s-1');
const launch = fakeLaunch(sandbox, { template: templateDigest('ab'.repeat(32)), run: 'lab/nightly' });
const job = fakeJob(launch, { addedAtMs: 400 });
const never = new AbortController().signal;

/** A launch of 10 ms a step, which ends so. */
function launchOf(tracer: FakeTracer, end: () => LaunchEnd, steps: readonly string[]) {
  return tracedLaunches(tracer, async ({ stands }) => {
    tracer.passMs(10);
    for (const step of steps) {
      stands(step);
      tracer.passMs(10);
    }
    return end();
  })(job, never);
}

const allSteps = ['create', 'running', 'answering', 'prepare', 'probe'];

test('a launch is a trace of its own by its sandbox, from its reservation on, and linked to the rollout that got it', async () => {
  const tracer = createFakeTracer();
  const rollout = 'lab/nightly/r/1/policy' as RolloutKey;
  await launchOf(tracer, () => ({ kind: 'ready', rollout }), allSteps);
  const root = tracer.told.find(({ name }) => name === 'launch');
  expect(root).toMatchObject({ context: launchRoot(sandbox), parent: null, startMs: 400, endMs: 1_060 });
  expect(root?.links).toEqual([rolloutRoot(rollout)]);
  const steps = tracer.told.filter(({ parent }) => parent === launchRoot(sandbox).spanId);
  expect(steps.map(({ name, startMs, endMs }) => [name, startMs, endMs])).toEqual([
    ['create', 1_010, 1_020],
    ['start', 1_020, 1_040],
    ['prepare', 1_040, 1_050],
    ['probe', 1_050, 1_060],
    ['queued', 400, 1_000],
  ]);
});

test('a launch that failed says by which code at its root and at the step that it stood at', async () => {
  const tracer = createFakeTracer();
  await launchOf(tracer, () => ({ kind: 'failed', code: 'image_unavailable', message: 'no' }), [
    'create',
    'running',
  ]);
  const failed = tracer.told.filter(({ attributes }) => attributes['corral.code'] === 'image_unavailable');
  expect(failed.map(({ name }) => name)).toEqual(['start', 'launch']);
  expect(failed[1]?.attributes['corral.blame']).toBe('infrastructure');
});

const stopped = () => {
  throw new Error('stopping');
};

test('a launch that is given to another worker is told by that one: only its steps so far are told', async () => {
  const tracer = createFakeTracer();
  await expect(launchOf(tracer, stopped, ['create'])).rejects.toThrow('stopping');
  expect(tracer.told).toMatchObject([{ name: 'create', attributes: { 'corral.trouble': 'handed_on' } }]);
});

const over = () => Promise.resolve({ kind: 'over' } as const);

test('a launch that was over before this worker had it is not written again', async () => {
  const tracer = createFakeTracer();
  await tracedLaunches(tracer, over)(job, never);
  expect(tracer.told).toEqual([]);
});

test('without a tracer the handler is what it was', () => {
  expect(tracedLaunches(noTracer, over)).toBe(over);
});
