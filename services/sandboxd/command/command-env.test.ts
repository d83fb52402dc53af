import { expect, it } from 'vitest';
import { parseOutOfMemoryKills } from '../evidence.ts';
import { commandEnv } from './command-env.ts';

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

it('finds the kills for memory in the files of both cgroup versions', () => {
  expect(parseOutOfMemoryKills('low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\n')).toBe(2);
  expect(parseOutOfMemoryKills('oom_kill_disable 0\nunder_oom 0\noom_kill 5\n')).toBe(5);
  expect(parseOutOfMemoryKills('')).toBeNull();
});
