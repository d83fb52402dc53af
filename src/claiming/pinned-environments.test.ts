import { expect, test } from 'vitest';
import { fakeEnvironment, fakeTemplate } from '#test/fakes/environment.ts';
import { offered } from '#test/fakes/offered.ts';
import type { Environment } from '../model/environment.ts';
import { environmentName, environmentVersion, runId, tenantId } from '../model/ids.ts';
import { PinnedEnvironments } from './pinned-environments.ts';

const tenant = tenantId('lab');
const run = runId('run-1');

const versioned = (version: string, given: Partial<Environment> = {}): Environment => ({
  ...fakeEnvironment(),
  ...given,
  version: environmentVersion(version),
});
const [older, newer] = [versioned('aaaaaaaa1111'), versioned('bbbbbbbb2222')];

/** A gateway whose own folder says `here`; fleet state has `published`, and runs are pinned to what `pins` says. */
function gateway(
  here: readonly Environment[],
  published: readonly Environment[] = [],
  pin: Environment = newer,
) {
  const loads: string[] = [];
  let catalog = offered(here);
  const agreed: { next: readonly Environment[] | null; asked: number } = { next: null, asked: 0 };
  const environments = new PinnedEnvironments(
    {
      newest: (name) => catalog.newest(name),
      byVersion: (version) => catalog.byVersion(version),
      all: () => catalog.all(),
      permitted: (environment) => catalog.permitted(environment),
      agree: async () => {
        agreed.asked += 1;
        if (agreed.next !== null) catalog = offered(agreed.next);
      },
    },
    { pinVersion: async () => pin.version },
    {
      load: async (version) => {
        loads.push(version);
        return published.find((one) => one.version === version) ?? null;
      },
      beginning: async (prefix) =>
        published.map(({ version }) => version).filter((version) => version.startsWith(prefix)),
    },
  );
  const ask = (name: string, version: string | null = null) =>
    environments.forRun(tenant, run, { name, version });
  return { ask, loads, agreed };
}

const unknown = { code: 'unknown_environment' };

test('a name that is unknown here is asked for in fleet state before anybody is told so', async () => {
  const { ask, agreed } = gateway([]);
  agreed.next = [newer];
  expect(await ask('plain')).toMatchObject({ version: newer.version });
  await expect(ask('nothing')).rejects.toMatchObject(unknown);
  expect(agreed.asked).toBe(2);
});

test('an address with a version, or its first digits, is served after the environment has changed', async () => {
  const { ask, loads } = gateway([newer], [older, newer]);
  expect(await ask('plain', older.version)).toMatchObject({ version: older.version });
  expect(await ask('plain', 'aaaaaaaa')).toMatchObject({ version: older.version });
  expect(await ask('plain', 'aaaaaaaa')).toMatchObject({ version: older.version });
  expect(loads).toHaveLength(2);
});

test.each(['aaaaaaa', 'cccccccc', ''])('the version "%s" is unknown', async (version) => {
  const { ask } = gateway([newer], [older, newer]);
  await expect(ask('plain', version)).rejects.toMatchObject(unknown);
});

test('a version of another environment is not reached under this name', async () => {
  const other = versioned('cccccccc3333', { name: environmentName('other') });
  const { ask } = gateway([newer], [other]);
  await expect(ask('plain', 'cccccccc')).rejects.toMatchObject(unknown);
});

test('digits that two versions begin with are no address', async () => {
  const { ask } = gateway([newer], [older, versioned('aaaaaaaa9999')]);
  await expect(ask('plain', 'aaaaaaaa')).rejects.toMatchObject({
    message: expect.stringContaining('more digits'),
  });
  expect(await ask('plain', 'aaaaaaaa9')).toMatchObject({ version: 'aaaaaaaa9999' });
});

test('a name that is no longer offered has no versions either', async () => {
  const { ask } = gateway([], [older]);
  await expect(ask('plain', older.version)).rejects.toMatchObject(unknown);
});

test('a run goes on in the version it was pinned to, and one beyond the policy of now is refused by name and reason', async () => {
  expect(await gateway([newer], [older], older).ask('plain')).toMatchObject({ version: older.version });
  // Without a policy file there is no network but none.
  const open = versioned('dddddddd4444', { template: fakeTemplate({ network: 'internet' }) });
  for (const asked of [
    gateway([newer], [open], open).ask('plain'),
    gateway([newer], [open]).ask('plain', open.version),
  ]) {
    await expect(asked).rejects.toMatchObject({
      ...unknown,
      message: expect.stringContaining('sandbox.network is internet'),
    });
  }
});
