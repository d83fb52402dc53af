import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import { clusterDefaults } from '../model/cluster.ts';
import { loadCluster } from './load-cluster.ts';

async function loaded(text: string) {
  await using folder = await environmentFolder({ 'cluster.yaml': text });
  const loading = loadCluster(join(folder.path, 'cluster.yaml'));
  return await loading.catch(() => mistakesOf(folder.path, loading));
}

test('a namespace and a way for sandboxd to come in are all that an operator has to say', async () => {
  expect(await loaded('{ namespace: sandboxes, sandboxd: baked }')).toEqual({
    ...clusterDefaults,
    namespace: 'sandboxes',
    sandboxd: { kind: 'baked' },
  });
});

test.each([
  ['{ baked: /.corral/payload }', { kind: 'baked', folder: '/.corral/payload' }],
  ['{ image_volume: example.com/sandboxd:1 }', { kind: 'image_volume', image: 'example.com/sandboxd:1' }],
])('sandboxd comes in by %s', async (text, sandboxd) => {
  expect(await loaded(`{ namespace: a, sandboxd: ${text} }`)).toMatchObject({ sandboxd });
});

test('whatever an operator says stands before the defaults', async () => {
  const text = `
namespace: sandboxes
sandboxd: { init_container: example.com/sandboxd:1 }
port: 9000
image_pull_policy: Never
image_pull_secrets: [registry]
uid: single
host_users: require
node_loss: 5s
networks: { proxy: { env: { HTTPS_PROXY: http://proxy:3128 }, egress: [{ cidr: 10.0.0.7/32, ports: [3128, 53/udp] }] } }
placement: { runtime_class: gvisor, node_selector: { pool: rollouts } }
`;
  expect(await loaded(text)).toMatchObject({
    sandboxd: { kind: 'init_container', image: 'example.com/sandboxd:1' },
    port: 9000,
    imagePullPolicy: 'Never',
    imagePullSecrets: ['registry'],
    singleUid: true,
    hostUsers: 'require',
    nodeLossSeconds: 5,
    networks: {
      proxy: {
        dnsPolicy: 'ClusterFirst',
        env: { HTTPS_PROXY: 'http://proxy:3128' },
        egress: [
          {
            cidr: '10.0.0.7/32',
            except: [],
            ports: [
              { port: 3128, protocol: 'TCP' },
              { port: 53, protocol: 'UDP' },
            ],
          },
        ],
      },
    },
    placement: { runtimeClass: 'gvisor', nodeSelector: { pool: 'rollouts' }, tolerations: [] },
  });
});

test('a network class cannot take the name of the one that is closed', async () => {
  expect(await loaded('{ namespace: a, sandboxd: baked, networks: { none: {} } }')).toEqual([
    expect.stringContaining('has no good name: network classes are'),
  ]);
});

test('an unknown way for sandboxd to come in is a mistake with the known ones', async () => {
  expect(await loaded('{ namespace: a, sandboxd: copied }')).toEqual([
    expect.stringContaining(
      'sandboxd must be baked, {baked: FOLDER}, {image_volume: IMAGE} or {init_container: IMAGE}',
    ),
  ]);
});

test.each(['10.0.0.0', '10.0.0.256/8', '10.0.0.0/33', 'example.com/32'])(
  'a network class cannot open %s, which is no range of addresses',
  async (cidr) => {
    const text = `{ namespace: a, sandboxd: baked, networks: { n: { egress: [{ cidr: ${cidr} }] } } }`;
    expect(await loaded(text)).toEqual([
      expect.stringContaining('cidr must be a range of addresses such as'),
    ]);
  },
);
