import { expect, test } from 'vitest';
import type { ApiKey, Scope } from '#src/access/keys.ts';
import { formatKeyFile } from '#src/access/key-file.ts';
import type { Api, ApiCall } from '#src/adapters/kubernetes/api/calls.ts';
import { tenantId } from '#src/model/ids.ts';
import { examineCluster } from './cluster.ts';
import { describeDiagnosis, diagnosisOf, note, ok, problem } from './finding.ts';
import { examineKeys } from './keys.ts';
import { examineImagePrograms, examineSystem } from './machine.ts';

const day = 24 * 3_600_000;
const key = (scopes: readonly Scope[], expiresAtMs: number | null = null): ApiKey => ({
  id: 'nightly',
  sha256: 'a'.repeat(64),
  tenant: tenantId('acme'),
  scopes,
  defaultRun: null,
  expiresAtMs,
});
const statesOf = (keys: readonly ApiKey[]) => examineKeys(keys, 0).map(({ state }) => state);

test('a key that plays rollouts and also reads the truth is a problem, and the fix is a key of its own', () => {
  const [found] = examineKeys([key(['rft:tools', 'admin'])], 0);
  expect(found).toMatchObject({
    what: 'API key nightly',
    state: 'problem',
    seen: 'it plays rollouts (rft:tools) and also reads the truth of the dataset (admin)',
    fix: expect.stringContaining('corral keys create NAME --scope rft:tools rft:grade') as string,
  });
});

test.each<[Scope, Scope, string]>([
  ['native', 'truth', 'the truth of the dataset (truth)'],
  ['rft:grade', 'watch', 'the outputs and commands of all rollouts of its tenant (watch)'],
])('a key with %s and %s is a problem as well', (plays, reads, seen) => {
  expect(examineKeys([key([plays, reads])], 0)).toMatchObject([
    { state: 'problem', seen: expect.stringContaining(seen) as string },
  ]);
});

test('a key that does one of the two is in order', () => {
  expect(statesOf([key(['rft:tools', 'rft:grade'])])).toEqual(['ok']);
  expect(statesOf([key(['admin', 'fleet'])])).toEqual(['ok']);
  expect(statesOf([key(['watch', 'truth'])])).toEqual(['ok']);
  expect(statesOf([])).toEqual(['ok']);
});

test('a key that has expired is a problem, one that will within a week a note', () => {
  expect(statesOf([key(['native'], 0)])).toEqual(['problem']);
  expect(statesOf([key(['native'], 6 * day)])).toEqual(['note']);
  expect(statesOf([key(['native'], 8 * day)])).toEqual(['ok']);
});

test.each([
  ['linux', 'x64', '6.1.0-18-amd64', 'ok'],
  ['linux', 'arm64', '5.19.0', 'ok'],
  ['linux', 'x64', '5.10.0', 'note'],
  ['darwin', 'arm64', '24.0.0', 'problem'],
  ['linux', 'riscv64', '6.1.0', 'problem'],
])('%s on %s with kernel %s: %s', (platform, arch, kernel, state) => {
  expect(examineSystem(platform, arch, kernel).state).toBe(state);
});

test('a machine without what fetches images of registries gets a note with what to install', () => {
  expect(examineImagePrograms('/nowhere')).toMatchObject({
    state: 'note',
    seen: 'not installed: skopeo, zstd',
    fix: 'apt-get install skopeo zstd',
  });
});

test('a diagnosis is in order without problems, and each fix is printed with what it is for', () => {
  const findings = [ok('a', 'fine'), note('b', 'so so', 'do this'), note('c', 'as it is')];
  expect(diagnosisOf(findings).ok).toBe(true);
  expect(describeDiagnosis(diagnosisOf(findings))).toContain(
    'What to do:\n  b: do this\n\nNo problem was found.',
  );
  const worse = diagnosisOf([...findings, problem('d', 'bad', 'do that')]);
  expect(worse.ok).toBe(false);
  expect(describeDiagnosis(worse)).toContain('1 of 4 are problems.');
});

const place = { fleet: 'lab', home: 'corral', sandboxes: 'lab-sandboxes' };
const secret = (keys: readonly ApiKey[]) => ({
  data: { 'keys.json': Buffer.from(formatKeyFile(keys)).toString('base64') },
});
const pod = (status: string) => ({
  metadata: { name: 'lab-gateway-0' },
  status: { conditions: [{ type: 'Ready', status, message: 'containers with unready status: [gateway]' }] },
});
const healthy: Readonly<Record<string, object>> = {
  '/version': { major: '1', minor: '34' },
  '/api/v1/namespaces/lab-sandboxes': {
    metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  },
  '/apis/networking.k8s.io/v1/namespaces/lab-sandboxes/networkpolicies/lab-sandboxes': {},
  '/api/v1/namespaces/corral/secrets/lab-keys': secret([key(['rft:tools'])]),
  '/api/v1/namespaces/corral/pods': { items: [pod('True')] },
};

/** An API server with these objects. */
const serverWith = (objects: Readonly<Record<string, object>>, missing = 404): Api => ({
  call: ({ path }: ApiCall) =>
    Promise.resolve(
      path in objects ? { status: 200, value: objects[path] } : { status: missing, value: undefined },
    ),
});
const problemsOf = async (changes: Readonly<Record<string, object>>, without: readonly string[] = []) => {
  const objects = Object.fromEntries(
    Object.entries({ ...healthy, ...changes }).filter(([path]) => !without.includes(path)),
  );
  const found = await examineCluster(serverWith(objects), place, 0);
  return found.filter(({ state }) => state === 'problem').map(({ what, seen }) => `${what}: ${seen}`);
};

test('a fleet on a cluster that has all it needs has no problem', async () => {
  expect(await problemsOf({})).toEqual([]);
});

test.each<[string, Readonly<Record<string, object>>, readonly string[], string]>([
  ['Kubernetes is too old', { '/version': { major: '1', minor: '28+' } }, [], 'Kubernetes: 1.28+'],
  [
    'the sandboxes’ namespace is missing',
    {},
    ['/api/v1/namespaces/lab-sandboxes'],
    'namespace lab-sandboxes: it does not exist',
  ],
  [
    'the namespace has no Pod Security level',
    { '/api/v1/namespaces/lab-sandboxes': { metadata: {} } },
    [],
    'namespace lab-sandboxes: no Pod Security level',
  ],
  [
    'the network policy is missing',
    {},
    ['/apis/networking.k8s.io/v1/namespaces/lab-sandboxes/networkpolicies/lab-sandboxes'],
    'network policy: lab-sandboxes does not exist: sandboxes are open to the network',
  ],
  [
    'a key plays and reads the truth',
    { '/api/v1/namespaces/corral/secrets/lab-keys': secret([key(['native', 'admin'])]) },
    [],
    'API key nightly: it plays rollouts (native) and also reads the truth of the dataset (admin)',
  ],
  [
    'a pod is not ready',
    { '/api/v1/namespaces/corral/pods': { items: [pod('False')] } },
    [],
    'pod lab-gateway-0: not ready: containers with unready status: [gateway]',
  ],
  [
    'there is no pod',
    { '/api/v1/namespaces/corral/pods': { items: [] } },
    [],
    'pods of the fleet: none in corral',
  ],
])('%s: exactly that is the problem', async (_, changes, without, expected) => {
  expect(await problemsOf(changes, without)).toEqual([expected]);
});

test('what this account may not read is a note, not a problem and not in order', async () => {
  const found = await examineCluster(serverWith({}, 403), place, 0);
  expect(new Set(found.map(({ state }) => state))).toEqual(new Set(['note']));
});
