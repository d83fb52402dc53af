import { afterAll, beforeAll, expect, test } from 'vitest';
import { underLoad } from '#test/support/load.ts';
import { installRelease, type Release } from '#test/support/release.ts';

const names = ['one', 'two'] as const;
type Name = (typeof names)[number];

const labels = { 'corral.dev/fleet': 'moves' };
const [password, another] = ['the-first-password', 'the-second-password'];

const settings = `--dir /data --appendonly yes --maxmemory-policy noeviction --requirepass ${password} --masterauth ${password}`;

/** An operator's own Redis, as plain as one can run it. */
const redisPod = (name: Name) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { ...labels, redis: name } },
  spec: {
    automountServiceAccountToken: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65532,
      fsGroup: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: 'redis',
        image: 'corral.local/redis:dev',
        imagePullPolicy: 'Never',
        command: ['redis-server'],
        args: settings.split(' '),
        readinessProbe: { tcpSocket: { port: 6379 }, periodSeconds: 1 },
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', emptyDir: {} }],
  },
});

/** Without an address of its own: its name is that of the pod which it selects, as a managed Redis' name is. */
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'state', labels },
  spec: { clusterIP: 'None', selector: { redis: 'one' }, ports: [{ port: 6379 }] },
};
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'state', labels },
  stringData: { password },
};

let corral: Release;
beforeAll(async () => {
  corral = await installRelease('moves', {
    redis: {
      bundled: { enabled: false },
      url: 'redis://state:6379/0',
      existingSecret: { name: 'state', passwordKey: 'password' },
    },
    extraObjects: [secret, service, ...names.map(redisPod)],
  });
});
afterAll(() => corral.remove());

let current = password;
const redis = (name: Name, ...command: readonly string[]) =>
  corral.kubectl(['exec', name, '--', 'redis-cli', '--no-auth-warning', '-a', current, ...command]);
const addressOf = (name: Name) => corral.kubectl(['get', 'pod', name, '--output=jsonpath={.status.podIP}']);
const patch = (kind: string, changes: object) =>
  corral.kubectl(['patch', kind, 'state', '--type=merge', `--patch=${JSON.stringify(changes)}`]);

/** Addresses of the fleet's own processes, and of all who are logged in. */
async function processes(): Promise<readonly string[]> {
  const own = '--selector=app.kubernetes.io/component in (gateway, controller)';
  return (await corral.kubectl(['get', 'pods', own, '--output=jsonpath={.items[*].status.podIP}'])).split(
    ' ',
  );
}
async function clientsOf(name: Name): Promise<readonly string[]> {
  const listed = await redis(name, 'CLIENT', 'LIST');
  return [...listed.matchAll(/ addr=(?<address>[\d.]+):/g)].map(({ groups }) => groups?.['address'] ?? '');
}
const allAreAt = async (name: Name) =>
  expect.poll(() => clientsOf(name)).toEqual(expect.arrayContaining([...(await processes())]));

test('its replica is promoted and takes its name, and it becomes the replica, under load: every rollout is scored, every answer is 200', async () => {
  await redis('two', 'REPLICAOF', await addressOf('one'), '6379');
  await expect.poll(() => redis('two', 'ROLE')).toContain('connected');
  await underLoad(corral, async () => {
    await redis('two', 'REPLICAOF', 'NO', 'ONE');
    await redis('one', 'REPLICAOF', await addressOf('two'), '6379');
    await patch('service', { spec: { selector: { redis: 'two' } } });
    await allAreAt('two');
  });
  expect(await redis('one', 'ROLE')).toMatch(/^slave/);
});

test('its password is changed and everybody thrown out, under load: all are held until the Secret has come, and answered 200', async () => {
  await underLoad(corral, async () => {
    await redis('two', 'CONFIG', 'SET', 'requirepass', another);
    current = another;
    for (const type of ['normal', 'pubsub']) await redis('two', 'CLIENT', 'KILL', 'TYPE', type);
    await patch('secret', { stringData: { password: another } });
    const first = { trace: 'after', call: 'c1', command: 'echo ran >> log', environment: 'counting' };
    expect(await corral.rft.call(first)).toMatchObject({ status: 200 });
    await allAreAt('two');
  });
});
