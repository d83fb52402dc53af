import { expect, test } from 'vitest';
import { keptOffBy, leavingOf, nodeView, tolerationsThatMatter } from './node-view.ts';
import type { Toleration } from './objects.ts';

const node = (spec: object) => keptOffBy({ metadata: { name: 'node-1' }, spec });
const taint = (key: string, effect = 'NoSchedule', value?: string) => ({
  key,
  effect,
  ...(value === undefined ? {} : { value }),
});

test.each([
  ['a cordon, before its taint is written', { unschedulable: true }],
  ['a cordon', { unschedulable: true, taints: [taint('node.kubernetes.io/unschedulable')] }],
  [
    'the cluster autoscaler',
    { taints: [taint('ToBeDeletedByClusterAutoscaler', 'NoSchedule', '1700000000')] },
  ],
  ['karpenter', { taints: [taint('karpenter.sh/disrupted')] }],
  ['a spot notice', { taints: [taint('aws-node-termination-handler/spot-itn')] }],
  ['a taint that throws pods out', { taints: [taint('maintenance', 'NoExecute')] }],
])('a pod without tolerations leaves a node under %s', (_who, spec) => {
  expect(node(spec)).toHaveLength(1);
  expect(leavingOf([], node(spec))).toContain('its node takes no more pods');
});

test.each([
  ['is healthy', {}],
  ['is not ready, which is a doubt of its own', { taints: [taint('node.kubernetes.io/not-ready')] }],
  ['is short of memory for a while', { taints: [taint('node.kubernetes.io/memory-pressure')] }],
  ['is only less wanted', { taints: [taint('DeletionCandidateOfClusterAutoscaler', 'PreferNoSchedule')] }],
])('it stays on one that %s', (_what, spec) => {
  expect(leavingOf([], node(spec))).toBeNull();
});

test.each<[string, Toleration, boolean]>([
  ['the key, whatever its value', { key: 'pool', operator: 'Exists' }, true],
  ['everything', { operator: 'Exists' }, true],
  ['key and value', { key: 'pool', operator: 'Equal', value: 'rl' }, true],
  ['key and value, without saying how', { key: 'pool', value: 'rl', effect: 'NoSchedule' }, true],
  ['another value', { key: 'pool', value: 'web' }, false],
  ['another effect', { key: 'pool', operator: 'Exists', effect: 'NoExecute' }, false],
  ['another key', { key: 'gpu', operator: 'Exists' }, false],
  ['it by a comparison of a newer cluster', { key: 'pool', operator: 'Gt', value: '3' }, true],
])('a pod that tolerates %s', (_what, toleration, stays) => {
  const why = leavingOf([toleration], [taint('pool', 'NoSchedule', 'rl')]);
  expect(why === null).toBe(stays);
});

const silent = { type: 'Ready', status: 'Unknown', message: 'Kubelet stopped posting node status.' };
const inOrder = { type: 'Ready', status: 'False', message: 'node is shutting down' };
const stopped = [{ key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }];
const unreachable = [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }];

test.each([
  ['a node that shuts down in order', [inOrder], [], 'kubelet'],
  ['a machine that its cloud provider stopped', [silent], stopped, 'cloud provider'],
  ['a node that is silent', [silent], unreachable, null],
  ['a node that was only cordoned before', [silent], [{ key: 'x', effect: 'NoSchedule' }], null],
])('%s: who shut it down', (_what, conditions, taints, expected) => {
  const object = { metadata: { name: 'node-1' }, spec: { taints }, status: { conditions } };
  expect(nodeView(object)).toMatchObject({ ready: false, shutDownBy: expected });
});

test('what every pod tolerates of its node’s health is not kept', () => {
  const own = { key: 'pool', operator: 'Exists' };
  const given = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' };
  expect(tolerationsThatMatter([given, own])).toEqual([own]);
  expect(tolerationsThatMatter([given])).toBe(tolerationsThatMatter([given]));
});
