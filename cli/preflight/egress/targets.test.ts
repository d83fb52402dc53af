import { describe, expect, test } from 'vitest';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { commonTargets } from './targets.ts';

const kubeconfig = (server: string) =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: {} }],
    'current-context': 'c',
  });

async function apiServerOf(server: string) {
  await using folder = await environmentFolder({ kubeconfig: kubeconfig(server) });
  return await commonTargets([], `${folder.path}/kubeconfig`, {});
}

describe('what no sandbox may reach is', () => {
  test('what the operator lists, by number', async () => {
    const targets = await commonTargets(['10.0.0.7:443', '[fd00::1]:53'], null, {});
    expect(targets.map(({ address }) => address)).toEqual([
      { host: '10.0.0.7', port: 443 },
      { host: 'fd00::1', port: 53 },
    ]);
  });

  test.each([
    ['https://10.250.0.1:6443', 6443],
    ['https://10.250.0.1', 443],
  ])('the API server of a kubeconfig at %s', async (server, port) => {
    expect(await apiServerOf(server)).toEqual([
      { what: 'the API server', address: { host: '10.250.0.1', port } },
    ]);
  });

  test('no API server where only this machine’s loopback leads to it, or none is known', async () => {
    expect(await apiServerOf('https://127.0.0.1:34567')).toEqual([]);
    expect(await commonTargets([], null, {})).toEqual([]);
  });

  test.each(['10.0.0.7', 'http://a:1', '10.0.0.7:99999', ':53', 'localhost:80', '127.0.0.1:80'])(
    'never %s, which is told to the caller',
    async (text) => {
      await expect(commonTargets([text], null, {})).rejects.toMatchObject({ fault: 'yours' });
    },
  );

  test('never that of a kubeconfig which cannot be read', async () => {
    await expect(commonTargets([], '/nowhere/kubeconfig', {})).rejects.toMatchObject({
      fault: 'yours',
      next: expect.stringContaining('--kubeconfig') as string,
    });
  });
});
