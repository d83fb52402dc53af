import { expect, it } from 'vitest';
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
