import { mkdtemp, rm, open, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { mountSecret } from '#test/support/mounted-secret.ts';
import { systemClock } from './clock.ts';
import { openFleetTokens, ensureFleetKeys, parseFleetKeys, readFleetKeys } from './fleet-tokens.ts';
import { sandboxToken } from './tokens.ts';

const older = 'aa'.repeat(32);
const newer = 'bb'.repeat(32);

let folder = '';
const stop = new AbortController();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-fleet-key-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A process with the old key; `turn` swaps the mounted file, and resolves when the process has said something of it. */
async function aProcess() {
  const secret = await mountSecret(join(folder, 'secret'), 'fleet.key', older);
  const tokens = await openFleetTokens(secret.path);
  const log = createFakeLog();
  const watch = tokens.watch({ clock: systemClock, log, signal: stop.signal });
  const turn = async (...lines: readonly string[]) => {
    const told = log.lines.length;
    await secret.write(lines.join('\n'));
    watch.poke();
    await expect.poll(() => log.lines.length).toBe(told + 1);
    return log.lines.at(-1);
  };
  return { tokens, turn };
}

const random = createFakeRandom();

test('a key is rotated in three steps without a restart: at each one every living sandbox keeps its token', async () => {
  const { tokens, turn } = await aProcess();
  const first = tokens.newSandbox(random);
  expect(await turn(older, newer)).toMatchObject({ level: 'info', message: 'the fleet keys have changed' });
  const second = tokens.newSandbox(random);
  await turn(newer, older);
  const third = tokens.newSandbox(random);
  expect([first, second, third].map((one) => tokens.tokenOf(one))).toEqual([
    sandboxToken(older, first),
    sandboxToken(older, second),
    sandboxToken(newer, third),
  ]);
  await turn(newer);
  expect(tokens.tokenOf(third)).toBe(sandboxToken(newer, third));
});

test('whoever has only heard of the next key opens what others already make under it', async () => {
  const behind = await aProcess();
  const secret = await mountSecret(join(folder, 'ahead'), 'fleet.key', `${newer}\n${older}`);
  const made = (await openFleetTokens(secret.path)).newSandbox(random);
  expect(behind.tokens.tokenOf(made)).not.toBe(sandboxToken(newer, made));
  await behind.turn(older, newer);
  expect(behind.tokens.tokenOf(made)).toBe(sandboxToken(newer, made));
});

test('a key file without any key in force, or half of one, changes nothing and is told with what to do', async () => {
  const { tokens, turn } = await aProcess();
  const living = tokens.newSandbox(random);
  expect(await turn(newer)).toMatchObject({
    level: 'error',
    fields: { error: expect.stringContaining('would lose every sandbox that lives') },
  });
  expect(await turn('half')).toMatchObject({ level: 'error' });
  expect(tokens.tokenOf(living)).toBe(sandboxToken(older, living));
});

let path = '';
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'corral-key-')), 'fleet.key');
});
afterEach(() => rm(dirname(path), { recursive: true }));

test('many processes that make the key at once all get the same one, in a file only its owner reads', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, () => ensureFleetKeys(path)));
  expect(new Set(keys.map((one) => one.current)).size).toBe(1);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dirname(path))).toEqual(['fleet.key']);
});

test('a key file that is there is only read: nothing is written beside it', async () => {
  await writeFile(path, 'ab'.repeat(32));
  const file = await open(path);
  // Nobody, root neither, can make a file in this folder; whoever tries fails.
  const keys = await ensureFleetKeys(`/proc/self/fd/${file.fd}`);
  await file.close();
  expect(keys).toEqual({ current: 'ab'.repeat(32), other: null });
});

test('a key file that is not there, in a folder where nothing can be made, is told with what to do', async () => {
  await expect(ensureFleetKeys('/proc/self/fleet.key')).rejects.toThrow('mount the Secret that has it');
});

test('two keys are the current one and the other one while keys are rotated', () => {
  const [current, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
  expect(parseFleetKeys(`# rotated in May\n${current}\n${other}\n`)).toEqual({ current, other });
});

test('the same key twice is refused: nobody could tell which one a sandbox was made under', () => {
  const key = 'ab'.repeat(32);
  expect(() => parseFleetKeys(`${key}\n${key}`)).toThrow('cannot be told apart');
});

test('a key that is too short, or a third one, is refused with what to do', async () => {
  expect(() => parseFleetKeys('abc')).toThrow('openssl rand -hex 32');
  expect(() => parseFleetKeys('')).toThrow('has one key, or two');
  await writeFile(path, 'abc');
  await expect(readFleetKeys(path)).rejects.toThrow(`the fleet key file ${path} cannot be used`);
});
