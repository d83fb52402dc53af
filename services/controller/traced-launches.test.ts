import { expect, test } from 'vitest';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { LaunchReservation } from '#src/ports/fleet/pool.ts';
import type { LaunchEnd, Ticket } from '#src/ports/launch-queue.ts';
import { noTracer } from '#src/ports/tracer.ts';
import { launchRoot, rolloutRoot, ticketRoot } from '#src/tracing/names.ts';
import { untold } from '#test/fakes/launch-queue.ts';
import { createFakeTracer, type FakeTracer } from '#test/fakes/tracer.ts';
import { tracedLaunches } from './traced-launches.ts';

const sandbox = sandboxId('s-1');
const launch: LaunchReservation = {
  sandbox,
  template: templateDigest('ab'.repeat(32)),
  reason: 'waiting',
  run: 'lab/nightly',
};
const ticket: Ticket = { ...untold('slot-0-x'), offeredAtMs: 400 };
const never = new AbortController().signal;

/** A launch of 10 ms a step, which ends so. */
function launchOf(tracer: FakeTracer, end: () => LaunchEnd, steps: readonly string[]) {
  return tracedLaunches(tracer, async (told) => {
    tracer.passMs(10);
    told.reserved(launch);
    for (const step of steps) {
      told.stands(step);
      tracer.passMs(10);
    }
    return end();
  })(ticket, never);
}

const allSteps = ['create', 'running', 'answering', 'prepare', 'probe'];

test('a launch is a trace of its own by its sandbox, and linked to its ticket and to whoever got it', async () => {
  const tracer = createFakeTracer();
  const rollout = 'lab/nightly/r/1/policy' as RolloutKey;
  await launchOf(tracer, () => ({ kind: 'ready', rollout }), allSteps);
  const root = tracer.told.find(({ name }) => name === 'launch');
  expect(root).toMatchObject({ context: launchRoot(sandbox), parent: null, startMs: 1_000, endMs: 1_060 });
  expect(root?.links).toEqual([ticketRoot('slot-0-x'), rolloutRoot(rollout)]);
  const steps = tracer.told.filter(({ parent }) => parent === launchRoot(sandbox).spanId);
  expect(steps.map(({ name, startMs, endMs }) => [name, startMs, endMs])).toEqual([
    ['create', 1_010, 1_020],
    ['start', 1_020, 1_040],
    ['prepare', 1_040, 1_050],
    ['probe', 1_050, 1_060],
  ]);
});

test('its ticket tells how long it lay in the queue', async () => {
  const tracer = createFakeTracer();
  await launchOf(tracer, () => ({ kind: 'ready', rollout: null }), allSteps);
  expect(tracer.told.find(({ name }) => name === 'ticket')).toMatchObject({
    context: ticketRoot('slot-0-x'),
    links: [launchRoot(sandbox)],
    startMs: 400,
    endMs: 1_010,
  });
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

const nothing = () => Promise.resolve({ kind: 'nothing' } as const);

test('a ticket for which nothing is wanted is no launch', async () => {
  const tracer = createFakeTracer();
  await tracedLaunches(tracer, nothing)(ticket, never);
  expect(tracer.told).toEqual([]);
});

test('without a tracer the handler is what it was', () => {
  expect(tracedLaunches(noTracer, nothing)).toBe(nothing);
});
