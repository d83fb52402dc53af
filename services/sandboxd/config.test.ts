import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const good = {
  CORRAL_SANDBOX_ID: 's-1',
  CORRAL_TOKEN_SHA256: 'a'.repeat(64),
  CORRAL_LISTEN: 'unix:/run/corral/d.sock',
};

const at = (ownFolder: string, named = {}) => readConfig({ ...good, ...named }, 0, ownFolder);

describe('readConfig', () => {
  it('fills in everything that may be left out', () => {
    expect(readConfig(good, 0, '/')).toEqual({
      sandbox: 's-1',
      tokenSha256: 'a'.repeat(64),
      listen: { kind: 'unix', path: '/run/corral/d.sock' },
      workspace: '/workspace',
      workspaceFrom: 'ours',
      folders: [],
      userMode: 'two-user',
      policyUid: 1000,
      policyGid: 1000,
      policyProcesses: null,
      graderUid: 1001,
      graderGid: 1001,
      queryUid: 1002,
      queryGid: 1002,
      graderFolder: '/run/corral-grader',
      graderRoot: null,
      ownNamespace: false,
      payload: null,
      cgroupEvents: null,
      cgroupCpu: null,
      mirrorTally: null,
      ownDiskMebibytes: null,
      sharesLimits: false,
      shmMebibytes: null,
      rehearseAfterMs: 10_000,
    });
  });

  it('names every mistake at once', () => {
    const wrong = { CORRAL_LISTEN: 'tcp:nowhere', CORRAL_POLICY_UID: '0' };
    expect(() => readConfig(wrong, 0, '/')).toThrow(
      /CORRAL_SANDBOX_ID must be.*CORRAL_TOKEN_SHA256 must be.*CORRAL_LISTEN must be.*CORRAL_POLICY_UID must be/,
    );
  });

  it('refuses two users where ids cannot be switched, and takes one user there', () => {
    expect(() => readConfig(good, 1000, '/')).toThrow(/two-user needs to start as root/);
    expect(readConfig({ ...good, CORRAL_USERS: 'single-user' }, 1000, '/').userMode).toBe('single-user');
  });

  it('reads a tcp address', () => {
    const { listen } = readConfig({ ...good, CORRAL_LISTEN: 'tcp:0.0.0.0:7070' }, 0, '/');
    expect(listen).toEqual({ kind: 'tcp', host: '0.0.0.0', port: 7070 });
  });

  it("works in the folder it was started in, which is the image's, unless it is told another", () => {
    expect(at('/app')).toMatchObject({ workspace: '/app', workspaceFrom: 'image' });
    expect(at('/workspace')).toMatchObject({ workspace: '/workspace', workspaceFrom: 'ours' });
    expect(at('/app', { CORRAL_WORKSPACE: '/w' })).toMatchObject({ workspace: '/w', workspaceFrom: 'ours' });
  });
});
