import { createKey, sha256Of, scopes } from '#src/access/keys.ts';
import { formatKeyFile } from '#src/access/key-file.ts';
import type { Api } from '#src/adapters/kubernetes/api/calls.ts';
import { fleetLabels } from '#src/adapters/kubernetes/manifests/labels.ts';
import { runId, tenantId } from '#src/model/ids.ts';
import type { Random } from '#src/ports/random.ts';
import { ask } from './api.ts';

/*
 * The Secrets of a fleet in its own namespace. They are made once and never changed: a second fleet key would orphan every
 * sandbox that lives, and second keys would lock every trainer out. So each is one create, which the API server answers
 * with 409 where there is one already, whole; nothing is read, and two who do it at once do it once.
 */

export const secretKinds = ['fleet-key', 'keys', 'redis'] as const;
export type SecretKind = (typeof secretKinds)[number];

/** 330 bits of chance go into each; what comes out is hex, which needs no quotes anywhere. */
const chanceLength = 64;

/** The person who installs a fleet; their first request names no run. Jobs get keys of their own. */
const operator = {
  id: 'operator',
  tenant: tenantId('default'),
  defaultRun: runId('operator'),
  expiresAtMs: null,
};

export const secretName = (fleet: string, kind: SecretKind): string => `${fleet}-${kind}`;

/** What is in a new one, by file. */
export function secretFiles(kind: SecretKind, random: Random): Readonly<Record<string, string>> {
  switch (kind) {
    case 'fleet-key':
      return { 'fleet.key': `${secretText(random)}\n` };
    case 'redis':
      return { password: secretText(random) };
    case 'keys': {
      const { key, presented } = createKey({ ...operator, scopes }, random);
      // Both in one Secret, so that an interrupted creation never leaves a hash without its key.
      return { 'keys.json': formatKeyFile([key]), 'operator.key': presented };
    }
  }
}

const secretText = (random: Random): string => sha256Of(random.text(chanceLength)).toString('hex');

export type MadeSecret = { readonly name: string; readonly state: 'made' | 'was there' };

export async function makeSecret(
  api: Api,
  place: { readonly fleet: string; readonly home: string },
  kind: SecretKind,
  random: Random,
): Promise<MadeSecret> {
  const name = secretName(place.fleet, kind);
  const body = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: fleetLabels(place.fleet) },
    stringData: secretFiles(kind, random),
  };
  const path = `/api/v1/namespaces/${place.home}/secrets`;
  const { status } = await ask(api, { verb: 'create', resource: 'secrets', path, body }, [409]);
  return { name, state: status === 409 ? 'was there' : 'made' };
}
