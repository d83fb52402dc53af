import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { commandEnv, keptFromPolicy } from './command-env.ts';

it("gives commands the image's environment without ours, and what a bare image lacks", () => {
  const own = {
    CORRAL_TOKEN_SHA256: 'x',
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
    KUBERNETES_PORT: 'x',
    LANG: 'C',
  };
  const env = commandEnv(own, '/workspace', { TASK: '1' });
  expect(env).toEqual({
    LANG: 'C',
    TASK: '1',
    HOME: '/workspace',
    PATH: expect.stringContaining('/usr/bin'),
  });
});

it("lets the image's PATH and HOME stand, and the call's own variables above all", () => {
  expect(commandEnv({ PATH: '/x', HOME: '/root' }, '/workspace', { HOME: '/h' })).toEqual({
    PATH: '/x',
    HOME: '/h',
  });
});

/** Whom nothing here belongs to, and who so writes only where everybody may. */
const stranger = { userMode: 'two-user', policyUid: 4_000_001, policyGid: 4_000_001 } as const;

const root = mkdtempSync(join(tmpdir(), 'corral-kept-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it('a folder of the system is where it is', () => {
  expect(keptFromPolicy('/usr/bin', stranger)).toBe('/usr/bin');
});

it('a link is what it led to when it was looked at, so that it cannot lead elsewhere later', () => {
  const link = join(root, 'link');
  symlinkSync('/usr/bin', link);
  expect(keptFromPolicy(link, stranger)).toBe('/usr/bin');
});

it.each([
  [0o777, null],
  [0o1777, 'inner'],
] as const)('below a folder of the mode %o the policy can take away another’s: %s', (mode, left) => {
  const open = join(root, `open-${mode.toString(8)}`);
  const inner = join(open, 'inner');
  mkdirSync(inner, { recursive: true });
  chmodSync(open, mode);
  expect(keptFromPolicy(inner, stranger)).toBe(left === null ? null : inner);
  expect(keptFromPolicy(open, stranger)).toBeNull();
});

it.each(['', '.', 'bin', '/no/such/folder'])(
  '%j, which is not named from the root or not there, is the policy’s',
  (folder) => {
    expect(keptFromPolicy(folder, stranger)).toBeNull();
  },
);

it('variables of mirrors reach commands and graders, and an image or a call has the last word', () => {
  const own = {
    PIP_INDEX_URL: 'image',
    CORRAL_PACKAGE_VARIABLES: JSON.stringify({
      PIP_INDEX_URL: 'mirror',
      CORRAL_MIRROR_NPM: 'npm',
      npm_config_registry: 'npm',
    }),
  };
  expect(commandEnv(own, '/w', { npm_config_registry: 'call' })).toMatchObject({
    PIP_INDEX_URL: 'image',
    CORRAL_MIRROR_NPM: 'npm',
    npm_config_registry: 'call',
  });
  expect(commandEnv(own, '/w')).not.toHaveProperty('CORRAL_PACKAGE_VARIABLES');
});
