import { expect, test } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakePodView, startingView } from '#test/fakes/pod-view.ts';
import type { StartTrouble } from '../truth/start-trouble.ts';
import { createStarts, type EventWords, noWords } from './starts.ts';

const sandbox = sandboxId('sandbox-1');
const startTimeoutMs = 60_000;
const pull: StartTrouble = {
  code: 'image_unavailable',
  reason: 'ErrImagePull',
  message: 'not found',
  graceMs: 12_000,
};
const backOff: StartTrouble = { ...pull, reason: 'ImagePullBackOff', message: 'Back-off' };
const noRoom: StartTrouble = {
  code: 'unschedulable',
  reason: 'Unschedulable',
  message: '0/2',
  graceMs: 30_000,
};

function world(words: Partial<EventWords> = {}) {
  const clock = createFakeClock();
  const told: ProviderEvent[] = [];
  const asked: string[] = [];
  const wordsOf = (podUid: string) => {
    asked.push(podUid);
    return Promise.resolve({ ...noWords, ...words });
  };
  const starts = createStarts({ clock, wordsOf, tell: (event) => void told.push(event) });
  const after = async (durationMs: number) => {
    await clock.advance(durationMs);
    await starts.check();
  };
  starts.begin(sandbox, startTimeoutMs);
  starts.accepted(sandbox);
  return { starts, told, asked, after };
}

test('a start without trouble is given up shortly before its timeout, with what the events say', async () => {
  const { starts, told, after } = world({ warnings: ['FailedMount: no such secret'] });
  starts.note(startingView());
  await after(56_000);
  expect(told).toEqual([]);
  await after(1_000);
  expect(told).toMatchObject([
    {
      kind: 'cannot_start',
      code: 'start_timeout',
      message: expect.stringContaining('FailedMount') as string,
    },
  ]);
});

test('trouble that lasts for its grace is told with the registry’s words, not the back-off’s', async () => {
  const { starts, told, asked, after } = world();
  starts.note(startingView({ trouble: pull }));
  await after(6_000);
  starts.note(startingView({ trouble: backOff }));
  await after(6_000);
  expect(told).toMatchObject([{ code: 'image_unavailable', message: 'ErrImagePull: not found' }]);
  expect(asked).toEqual(['uid-1']);
});

test('trouble that passes is forgotten, and a start that runs is nobody’s concern', async () => {
  const { starts, told, after } = world();
  starts.note(startingView({ trouble: pull }));
  await after(6_000);
  starts.note(startingView());
  await after(10_000);
  starts.note(fakePodView());
  await after(60_000);
  expect(told).toEqual([]);
});

test('no room is told after half a minute', async () => {
  const { starts, told, after } = world();
  starts.note(startingView({ trouble: noRoom }));
  await after(29_000);
  expect(told).toEqual([]);
  await after(1_000);
  expect(told).toMatchObject([{ code: 'unschedulable' }]);
});

test('while an autoscaler makes room only the start timeout counts, and the events are read twice at most', async () => {
  const { starts, told, asked, after } = world({ scaling: true });
  starts.note(startingView({ trouble: noRoom }));
  await after(30_000);
  await after(20_000);
  expect(told).toEqual([]);
  await after(10_000);
  expect(told).toMatchObject([{ code: 'unschedulable', evidence: { autoscaling: true } }]);
  expect(asked).toHaveLength(2);
});

test('a pod that nobody has seen is given up without reading events', async () => {
  const { told, asked, after } = world();
  await after(60_000);
  expect(told).toMatchObject([{ code: 'start_timeout' }]);
  expect(asked).toEqual([]);
});

test('the time that the API server took to accept a pod is none of its start', async () => {
  const { starts, told, after } = world();
  const later = sandboxId('sandbox-2');
  starts.begin(later, startTimeoutMs);
  await after(90_000);
  starts.accepted(later);
  await after(56_000);
  expect(told).toMatchObject([{ sandbox }]);
  await after(1_000);
  expect(told).toMatchObject([{ sandbox }, { sandbox: later, code: 'start_timeout' }]);
});
