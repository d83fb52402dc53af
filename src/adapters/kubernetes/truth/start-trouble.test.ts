import { expect, test } from 'vitest';
import { fakePod } from '#test/fakes/pod-object.ts';
import { startTrouble } from './start-trouble.ts';

const waiting = (reason: string, message = 'why') =>
  fakePod({
    phase: 'Pending',
    containerStatuses: [{ name: 'sandbox', state: { waiting: { reason, message } } }],
  });

test.each([
  ['InvalidImageName', 'image_unavailable', true],
  ['ErrImageNeverPull', 'image_unavailable', true],
  ['ErrImagePull', 'image_unavailable', false],
  ['ImagePullBackOff', 'image_unavailable', false],
  ['CreateContainerConfigError', 'start_failed', false],
  ['RunContainerError', 'start_failed', false],
] as const)('%s is %s, at once: %s', (reason, code, atOnce) => {
  const trouble = startTrouble(waiting(reason));
  expect(trouble).toMatchObject({ code, reason, message: 'why' });
  expect(trouble?.graceMs === 0).toBe(atOnce);
});

test('a container that is being created is in no trouble, nor is a reason that nobody knows', () => {
  expect(startTrouble(waiting('ContainerCreating'))).toBeNull();
  expect(startTrouble(waiting('SomethingNew'))).toBeNull();
});

test('a container that runs first and cannot is the trouble of the whole pod', () => {
  const init = { name: 'copy-sandboxd', state: { waiting: { reason: 'ErrImagePull', message: 'no' } } };
  const pod = fakePod({ phase: 'Pending', initContainerStatuses: [init] });
  expect(startTrouble(pod)).toMatchObject({ code: 'image_unavailable' });
});

test('a pod for which no node has room has half a minute', () => {
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes' };
  expect(startTrouble(fakePod({ phase: 'Pending', conditions: [condition] }))).toEqual({
    code: 'unschedulable',
    reason: 'Unschedulable',
    message: '0/2 nodes',
    graceMs: 30_000,
  });
});

test.each([
  ['OutOfcpu', 'unschedulable'],
  ['NodeAffinity', 'unschedulable'],
  ['UnexpectedAdmissionError', 'start_failed'],
] as const)('a pod that its node refused with %s is %s at once', (reason, code) => {
  const pod = fakePod({ phase: 'Failed', reason, message: 'refused' });
  expect(startTrouble(pod)).toMatchObject({ code, message: 'refused', graceMs: 0 });
});

test('a container that could not be executed says so itself', () => {
  const terminated = {
    exitCode: 128,
    reason: 'StartError',
    message: 'exec: "/corral/lib/ld.so": no such file',
  };
  const pod = fakePod({ phase: 'Failed', containerStatuses: [{ name: 'sandbox', state: { terminated } }] });
  expect(startTrouble(pod)).toMatchObject({
    code: 'start_failed',
    reason: 'StartError',
    message: 'container sandbox ended with 128: exec: "/corral/lib/ld.so": no such file',
  });
});
