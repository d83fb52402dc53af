import { expect, test } from 'vitest';
import { sandboxdSettings } from '#test/fakes/sandboxd-settings.ts';
import { readConfig } from '../config.ts';
import { askHelper } from './run.ts';

const config = readConfig({ ...sandboxdSettings, CORRAL_USERS: 'single-user' }, 1000, '/');
const asked = (longestMs: number) => askHelper(config, 'policy', ['lacking', folders], longestMs);
const folders = JSON.stringify([{ path: '/', access: 'enter' }]);

test('a helper that is not done in its time is late, and not killed by something in the sandbox', async () => {
  expect(await asked(60_000)).toEqual({ errnos: [null] });
  await expect(asked(1)).rejects.toMatchObject({ code: 'file_error', errno: 'ETIMEDOUT' });
});
