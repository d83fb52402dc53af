import { expect, test } from 'vitest';
import { defaultStartBudget, readControllerConfig } from './config.ts';

const least = {
  CORRAL_FLEET: 'local',
  CORRAL_REDIS: '/run/redis.sock',
  CORRAL_NODE_SOCKET: '/run/node.sock',
  CORRAL_ENVIRONMENTS: 'environments',
  CORRAL_FLEET_KEY_FILE: '/run/fleet.key',
  CORRAL_EVENT_LOG_DIR: 'events',
};

test('the few settings that have no default are enough', () => {
  const config = readControllerConfig(least);
  expect(config).toMatchObject({
    engine: { kind: 'local', nodeSocket: '/run/node.sock' },
    listen: null,
    exitWithParent: false,
  });
  expect(config.startBudget).toBeGreaterThanOrEqual(4);
});

test('a cluster needs its file instead of a node process, and has many machines to start sandboxes on', () => {
  const { CORRAL_NODE_SOCKET: _node, ...others } = least;
  const onCluster = { ...others, CORRAL_PROVIDER: 'kubernetes', CORRAL_CLUSTER_FILE: 'cluster.yaml' };
  expect(readControllerConfig(onCluster)).toMatchObject({
    engine: { kind: 'kubernetes', clusterFile: 'cluster.yaml', kubeconfig: null },
    startBudget: 128,
  });
  expect(() => readControllerConfig({ ...onCluster, CORRAL_CLUSTER_FILE: '' })).toThrow(
    'CORRAL_CLUSTER_FILE is not set',
  );
});

test('the default start budget is two a core and at least four', () => {
  expect([1, 2, 16].map(defaultStartBudget)).toEqual([4, 4, 32]);
});

test('sizes by environment and the address to listen at are read', () => {
  const config = readControllerConfig({
    ...least,
    CORRAL_POOL_OVERRIDES: '{"shell": {"minReady": 20}}',
    CORRAL_CONTROLLER_LISTEN: '127.0.0.1:9100',
  });
  expect([...config.poolOverrides]).toEqual([['shell', { minReady: 20 }]]);
  expect(config.listen).toEqual({ host: '127.0.0.1', port: 9100 });
});

test.each([
  { wrong: { CORRAL_FLEET: 'Not A Name' }, says: 'CORRAL_FLEET is "Not A Name"' },
  { wrong: { CORRAL_REDIS: 'localhost' }, says: 'CORRAL_REDIS is "localhost"' },
  {
    wrong: { CORRAL_REDIS: 'redis-sentinel://host:26379' },
    says: 'redis-sentinel://host:port,host:port/name',
  },
  { wrong: { CORRAL_REDIS_CA_FILE: '/ca' }, says: 'CORRAL_REDIS asks for no TLS: write rediss://' },
  { wrong: { CORRAL_POOL_OVERRIDES: '{"shell": {"size": 2}}' }, says: 'CORRAL_POOL_OVERRIDES is' },
  { wrong: { CORRAL_POOL_OVERRIDES: '[1' }, says: 'CORRAL_POOL_OVERRIDES is' },
  { wrong: { CORRAL_CONTROLLER_LISTEN: '9100' }, says: 'not host:port such as 127.0.0.1:9100' },
  { wrong: { CORRAL_START_BUDGET: '0' }, says: 'CORRAL_START_BUDGET is "0"' },
])('a mistake is told with its variable: $says', ({ wrong, says }) => {
  expect(() => readControllerConfig({ ...least, ...wrong })).toThrow(says);
});
