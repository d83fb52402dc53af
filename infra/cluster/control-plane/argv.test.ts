import { expect, test } from 'vitest';
import { type NodeLoss, planCluster } from '../plan.ts';
import { apiServerArgv, controllerManagerArgv } from './argv.ts';

const planOf = (nodeLoss: NodeLoss) => planCluster({ name: 'x', nodes: 2, fakeNodes: 0, nodeLoss });

test('a fast cluster gives a silent node up after 10 s and its pods 5 s later', () => {
  expect(controllerManagerArgv(planOf('fast'))).toContain('--node-monitor-grace-period=10s');
  expect(apiServerArgv(planOf('fast'))).toContain('--default-unreachable-toleration-seconds=5');
});

test('a patient cluster waits as long as Kubernetes does by default', () => {
  expect(controllerManagerArgv(planOf('patient'))).toContain('--node-monitor-grace-period=50s');
  expect(apiServerArgv(planOf('patient'))).toContain('--default-unreachable-toleration-seconds=300');
});
