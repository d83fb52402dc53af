import { expect, test } from 'vitest';
import { brokenBy } from '#src/failure/codes.ts';
import { fakeNode, fakePod } from '#test/fakes/pod-object.ts';
import { endingOf, hasItsLimitPromised, killedForMemoryAtMs } from './ending.ts';
import type { NodeView } from './node-view.ts';
import type { PodObject } from './objects.ts';

type Terminated = { readonly exitCode: number; readonly reason?: string; readonly signal?: number };

const ended = (pod: PodObject, node: NodeView | null = fakeNode(), asked = false) =>
  endingOf({ pod, node, container: 'sandbox', asked });
const exited = (terminated: Terminated) =>
  fakePod({ phase: 'Failed', containerStatuses: [{ name: 'sandbox', state: { terminated } }] });
const disrupted = (reason: string) =>
  fakePod({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason, message: 'said so' }] });
const evicted = (message: string) => fakePod({ phase: 'Failed', reason: 'Evicted', message });

test.each([
  ['SIGKILL from outside', exited({ exitCode: 137, reason: 'Error' }), 'sandboxd_killed'],
  ['SIGTERM', exited({ exitCode: 143 }), 'sandboxd_killed'],
  ['a signal that the runtime names', exited({ exitCode: 0, signal: 9 }), 'sandboxd_killed'],
  ['an exit of its own', exited({ exitCode: 1 }), 'sandbox_exited'],
  ['an exit code that is no signal', exited({ exitCode: 255 }), 'sandbox_exited'],
  ['its own memory limit', exited({ exitCode: 137, reason: 'OOMKilled' }), 'out_of_memory'],
  [
    'an exit long after a child was killed for memory',
    exited({ exitCode: 1, reason: 'OOMKilled' }),
    'sandbox_exited',
  ],
  ['the scheduler, for a more important pod', disrupted('PreemptionByScheduler'), 'preempted'],
  ['the eviction API', disrupted('EvictionByEvictionAPI'), 'evicted'],
  ['the pod garbage collector', disrupted('DeletionByPodGC'), 'node_lost'],
  ['a taint on a node that is ready', disrupted('DeletionByTaintManager'), 'node_drained'],
  ['a reason of a newer cluster', disrupted('SomethingNew'), 'evicted'],
  ['memory pressure of the node', evicted('The node was low on resource: memory.'), 'evicted'],
  ['its disk limit', evicted('Usage of EmptyDir volume "work" exceeds the limit "1Gi". '), 'out_of_disk'],
  [
    'the disk limit of all of it',
    evicted('Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. '),
    'out_of_disk',
  ],
  [
    'the disk limit of its container',
    evicted('Container sandbox exceeded its local ephemeral storage limit "1Gi". '),
    'out_of_disk',
  ],
  ['a node that shuts down', fakePod({ phase: 'Failed', reason: 'Terminated' }), 'node_drained'],
  ['its deadline', fakePod({ phase: 'Failed', reason: 'DeadlineExceeded' }), 'expired'],
  ['a failure before its container ran', fakePod({ phase: 'Failed' }), 'sandbox_exited'],
  ['somebody who says nothing', fakePod({ phase: 'Running' }), 'deleted'],
] as const)('ended by %s', (_who, pod, cause) => {
  expect(ended(pod).cause).toBe(cause);
});

test('a pod that we removed is deleted, whatever its container says on its way out', () => {
  expect(ended(exited({ exitCode: 137 }), fakeNode(), true).cause).toBe('deleted');
});

test('a container that is killed because somebody deleted its pod was not killed from outside', () => {
  const { status } = exited({ exitCode: 137 });
  const pod = fakePod(status ?? {}, { deletionTimestamp: '2026-01-01T00:00:10Z' });
  expect(ended(pod).cause).toBe('deleted');
});

test('a node that evicts for memory is no excuse for a sandbox that was killed at its own limit', () => {
  const pod = exited({ exitCode: 137, reason: 'OOMKilled' });
  const under = ended(pod, fakeNode({ memoryPressure: true }));
  expect(under).toMatchObject({ cause: 'out_of_memory', evidence: { nodeMemoryPressure: true } });
});

const killedAt = (terminated: Terminated & { readonly finishedAt?: string }, asked = false) =>
  killedForMemoryAtMs({ pod: exited(terminated), node: null, container: 'sandbox', asked });

test('an eviction from a node that is short is marked, one that a client asks for is not', () => {
  const short = fakePod({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory.',
  });
  expect(ended(short)).toMatchObject({ cause: 'evicted', evidence: { suspected: 'command' } });
  expect(ended(disrupted('EvictionByEvictionAPI')).evidence).not.toHaveProperty('suspected');
});

test.each([
  [{ requests: { memory: '512' }, limits: { memory: '512' } }, true],
  [{ requests: { memory: '128' }, limits: { memory: '512' } }, false],
  [{ limits: { memory: '512' } }, false],
  [{}, false],
] as const)('a node keeps the whole limit of %j: %s', (resources, expected) => {
  const pod = { ...fakePod({}), spec: { containers: [{ name: 'sandbox', resources }] } };
  expect(hasItsLimitPromised(pod, 'sandbox')).toBe(expected);
});

test('only an end for memory has a time at which the node may have had none', () => {
  const killed = { exitCode: 137, reason: 'OOMKilled', finishedAt: '2026-01-01T00:00:07Z' };
  expect(killedAt(killed)).toBe(Date.parse('2026-01-01T00:00:07Z'));
  expect(killedAt(killed, true)).toBeNull();
  expect(killedAt({ ...killed, reason: 'Error' })).toBeNull();
});

const as = (users: string, pod: PodObject) => {
  const containers = [{ name: 'sandbox', env: [{ name: 'CORRAL_USERS', value: users }] }];
  return brokenBy('sandboxd_killed', ended({ ...pod, spec: { nodeName: 'node-1', containers } }).evidence);
};

test('a command that has a child killed for memory first and then stops sandboxd does not hide behind that', () => {
  expect(as('root', exited({ exitCode: 143, reason: 'OOMKilled' }))).not.toBeNull();
});

test('a kill speaks against a command only where commands run as sandboxd itself, and memory was not short', () => {
  const killed = exited({ exitCode: 137, reason: 'Error' });
  expect(as('root', killed)).not.toBeNull();
  expect(as('single-user', killed)).not.toBeNull();
  expect(as('two-user', killed)).toBeNull();
  expect(as('root', exited({ exitCode: 137, reason: 'OOMKilled' }))).toBeNull();
});

test('a taint of a node that is not ready means that the node is lost', () => {
  expect(ended(disrupted('DeletionByTaintManager'), fakeNode({ ready: false })).cause).toBe('node_lost');
});

test('the evidence has the pod, its node, how it ended and the cluster’s words', () => {
  expect(ended(exited({ exitCode: 137, reason: 'Error' })).evidence).toMatchObject({
    podUid: 'uid-1',
    node: 'node-1',
    exitCode: 137,
    signal: 'SIGKILL',
    containerReason: 'Error',
  });
  expect(ended(disrupted('EvictionByEvictionAPI')).evidence).toMatchObject({ disruptionMessage: 'said so' });
});
