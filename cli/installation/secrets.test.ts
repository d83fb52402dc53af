import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseKeyFile } from '#src/access/key-file.ts';
import { scopes } from '#src/access/keys.ts';
import type { Api, ApiCall } from '#src/adapters/kubernetes/api/calls.ts';
import { parseFleetKeys } from '#src/platform/fleet-tokens.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { makeSecret, secretFiles, secretKinds } from './secrets.ts';

const place = { fleet: 'lab', home: 'corral' };

function answering(status: number): Api & { readonly asked: ApiCall[] } {
  const asked: ApiCall[] = [];
  const value = { kind: 'Status', message: 'as it was told to' };
  return { asked, call: (call) => (asked.push(call), Promise.resolve({ status, value })) };
}

test('a Secret that is not there is made with the fleet’s label', async () => {
  const api = answering(201);
  expect(await makeSecret(api, place, 'fleet-key', createFakeRandom())).toEqual({
    name: 'lab-fleet-key',
    state: 'made',
  });
  expect(api.asked).toMatchObject([
    {
      verb: 'create',
      path: '/api/v1/namespaces/corral/secrets',
      body: { kind: 'Secret', metadata: { name: 'lab-fleet-key', labels: { 'corral.dev/fleet': 'lab' } } },
    },
  ]);
});

test.each(secretKinds)(
  'a Secret %s that is there stays as it is, and nothing else is asked',
  async (kind) => {
    const api = answering(409);
    expect(await makeSecret(api, place, kind, createFakeRandom())).toMatchObject({ state: 'was there' });
    expect(api.asked.map(({ verb }) => verb)).toEqual(['create']);
  },
);

test('a refusal is told in the server’s own words', async () => {
  await expect(makeSecret(answering(403), place, 'keys', createFakeRandom())).rejects.toThrow(
    /refused to create .*: as it was told to/,
  );
});

test('the fleet key is one that processes read', () => {
  const { 'fleet.key': text = '' } = secretFiles('fleet-key', createFakeRandom());
  expect(parseFleetKeys(text)).toMatchObject({ other: null });
});

test('the operator’s key opens what its hash is of, with every scope, and needs no run to be named', () => {
  const files = secretFiles('keys', createFakeRandom());
  const [key] = parseKeyFile(files['keys.json'] ?? '');
  const sha256 = createHash('sha256')
    .update(files['operator.key'] ?? '')
    .digest('hex');
  expect(key).toMatchObject({ id: 'operator', sha256, scopes, defaultRun: 'operator' });
});

test('no two have a text in common', () => {
  const random = createFakeRandom();
  const files = secretKinds.flatMap((kind) => Object.values(secretFiles(kind, random)));
  expect(new Set(files).size).toBe(files.length);
});
