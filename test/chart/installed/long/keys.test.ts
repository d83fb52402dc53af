import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '#infra/cluster/machine/run.ts';
import { formatKeyFile, parseKeyFile } from '#src/access/key-file.ts';
import { scriptOf } from '#test/support/documented-commands.ts';
import { facesOf } from '#test/support/faces.ts';
import { underLoad } from '#test/support/load.ts';
import { installRelease, type Release } from '#test/support/release.ts';

const repository = join(import.meta.dirname, '../../../..');
const environment = 'counting';

let corral: Release;
beforeAll(async () => {
  corral = await installRelease('keys');
});
afterAll(() => corral.remove());

/** Files of a Secret, by name; nobody else's are touched. */
async function write(secret: string, files: Readonly<Record<string, string>>): Promise<void> {
  await corral.kubectl([
    'patch',
    'secret',
    secret,
    '--type=merge',
    '--patch',
    JSON.stringify({ stringData: files }),
  ]);
}
async function read(secret: string, file: string): Promise<string> {
  const path = `--output=jsonpath={.data.${file.replaceAll('.', String.raw`\.`)}}`;
  return Buffer.from(await corral.kubectl(['get', 'secret', secret, path]), 'base64').toString();
}

const ownPods = '--selector=app.kubernetes.io/component in (gateway, controller)';
const podsOf = async (selector: string) =>
  (await corral.kubectl(['get', 'pods', selector, '--output=name'])).trim().split('\n');

/**
 * Resolves when every process whose log must say it has said it so often. A kubelet brings a change within two minutes, and
 * at once to a pod of which anything else changes, which is what an operator does who cannot wait.
 */
async function untilAllSay(selector: string, sentence: string, times: number): Promise<void> {
  const pods = await podsOf(selector);
  const saidBy = async (pod: string) => (await corral.kubectl(['logs', pod])).split(sentence).length - 1;
  const look = async () => {
    await corral.kubectl(['annotate', 'pods', selector, '--overwrite', `corral.test/looked=${Date.now()}`]);
    return Promise.all(pods.map(saidBy));
  };
  await expect.poll(look, { timeout: 120_000, interval: 2_000 }).toEqual(pods.map(() => times));
}

/** The operators' page as it is pasted; returns the new key, which is printed once. */
async function createKeyAsThePageSays(): Promise<string> {
  const page = await readFile(join(repository, 'docs/operators.md'), 'utf8');
  const [, section = ''] = page.split('\n## Install it with Helm\n');
  const script = scriptOf(section.split('\n## ')[0] ?? '', true);
  const cwd = await mkdtemp(join(tmpdir(), 'corral-keys-'));
  const path = `${join(repository, 'bin')}:${process.env['PATH'] ?? ''}`;
  const env = { ...process.env, PATH: path, FLEET: 'keys', HOME_NAMESPACE: corral.namespace };
  try {
    const said = await run(['sh', '-eu'], { cwd, env, stdin: script });
    return /corral_nightly_\S+/.exec(said)?.[0] ?? '';
  } finally {
    await rm(cwd, { recursive: true });
  }
}

/** The first letters of a sandbox's name, and of its pod's: the key that it was made under. */
async function markOf(rollout: string): Promise<string> {
  const { body } = await corral.native.get(`/v1/rollouts/${rollout}`);
  return (body as { readonly epoch: { readonly sandbox: string } }).epoch.sandbox.slice(0, 5);
}
async function marksOfSandboxes(): Promise<readonly string[]> {
  const names = '--output=jsonpath={.items[*].metadata.name}';
  const pods = await corral.kubectl(['get', 'pods', '--namespace=keys-sandboxes', names]);
  return pods.split(' ').map((name) => name.slice(0, 5));
}
/** Names and restarts of the fleet's own processes. */
const processes = () =>
  corral.kubectl([
    'get',
    'pods',
    ownPods,
    '--output=jsonpath={range .items[*]}{.metadata.name}{.status.containerStatuses[*].restartCount} {end}',
  ]);

const newer = 'bb'.repeat(32);
const call = (trace: string, name: string) =>
  corral.rft.call({ trace, call: name, command: 'echo ran >> log', environment });

test('the fleet key is rotated in three steps under load: nothing restarts, every sandbox serves to its end, new ones have the new key', async () => {
  const older = (await read('keys-fleet-key', 'fleet.key')).trim();
  const before = await processes();
  let steps = 0;
  const step = async (...keys: readonly string[]) => {
    await write('keys-fleet-key', { 'fleet.key': keys.join('\n') });
    await untilAllSay(ownPods, 'the fleet keys have changed', (steps += 1));
  };
  expect(await call('begun', 'c1')).toMatchObject({ status: 200 });
  const mark = await markOf('begun');
  await underLoad(corral, async () => {
    await step(older, newer);
    expect(await call('begun', 'c2')).toMatchObject({ status: 200 });
    await step(newer, older);
    expect(await call('begun', 'c3')).toMatchObject({ status: 200 });
    expect(await corral.rft.grade({ trace: 'begun', environment })).toMatchObject({ body: { score: 3 } });
    await expect.poll(marksOfSandboxes).not.toContain(mark);
    await step(newer);
    expect(await call('after', 'c1')).toMatchObject({ status: 200 });
    expect(await markOf('after')).not.toBe(mark);
  });
  expect(await processes()).toBe(before);
});

const gateways = '--selector=app.kubernetes.io/component=gateway';
const changed = '"the keys have changed"';

test('API keys are rotated under load: the old one serves until it is taken away, the new one from then on, and nobody is refused', async () => {
  let nightly = '';
  await underLoad(corral, async () => {
    nightly = await createKeyAsThePageSays();
    await untilAllSay(gateways, changed, 1);
  });
  await underLoad({ ...corral, apiKey: nightly }, async () => {
    const kept = parseKeyFile(await read('keys-keys', 'keys.json')).filter(({ id }) => id === 'nightly');
    await write('keys-keys', { 'keys.json': formatKeyFile(kept) });
    await untilAllSay(gateways, changed, 2);
  });
  const faces = facesOf(corral.gatewayUrl, nightly);
  const first = { trace: 'doors', call: 'c1', command: 'true', environment };
  expect(await faces.rft.call(first)).toMatchObject({ status: 200 });
  expect(await corral.rft.call(first)).toMatchObject({
    status: 503,
    body: { error: { code: 'unauthorized' } },
  });
});
