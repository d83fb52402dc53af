import { readFile, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { partPid } from '../support/parts-of-fleet.ts';
import { mountSecret } from '../support/mounted-secret.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '../support/fleet.ts';

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterAll(() => corral.stop());

const newer = 'bb'.repeat(32);
/** Read again every five seconds. */
const soon = { timeout: 20_000 };

/** Puts the key into a mounted Secret; the returned function swaps it, and resolves when both processes have read it. */
async function mountKey(stateDir: string) {
  const { fleetKeyFile, logs } = stateFolderAt(stateDir);
  const older = (await readFile(fleetKeyFile, 'utf8')).trim();
  const secret = await mountSecret(join(stateDir, 'secret'), 'fleet.key', older);
  await symlink(secret.path, `${fleetKeyFile}.link`);
  await rename(`${fleetKeyFile}.link`, fleetKeyFile);
  let turns = 0;
  const turn = async (...keys: readonly string[]) => {
    await secret.write(keys.join('\n'));
    turns += 1;
    for (const part of ['gateway', 'controller']) {
      const log = () => readFile(join(logs, `${part}.jsonl`), 'utf8');
      const times = async () => (await log()).split('the fleet keys have changed').length - 1;
      await expect.poll(times, soon).toBe(turns);
    }
  };
  return { older, turn };
}

/** The first letters of a sandbox's id: the key that it was made under. */
const markOf = async (rollout: string) => (await corral.sandboxOf(rollout)).sandbox.slice(0, 5);

const call = (trace: string, name: string) => corral.rft.call({ trace, call: name, command: `echo ${name}` });
const answered = (name: string) => ({ status: 200, body: { output: `${name}\n` } });

test('the fleet key is rotated under running rollouts: nothing restarts, every sandbox goes on, new ones have the new key', async () => {
  const { stateDir } = corral.fleet;
  const pids = () => [partPid(stateDir, 'gateway'), partPid(stateDir, 'controller')];
  const before = pids();
  const { older, turn } = await mountKey(stateDir);
  expect(await call('first', 'c1')).toMatchObject(answered('c1'));
  await turn(older, newer);
  expect(await call('first', 'c2')).toMatchObject(answered('c2'));
  await turn(newer, older);
  expect(await call('first', 'c3')).toMatchObject(answered('c3'));

  // What is ready was made before; whoever comes after it gets one of the new key.
  const names = ['a', 'b', 'c', 'd', 'e'];
  for (const name of names) expect(await call(name, 'c1')).toMatchObject(answered('c1'));
  const marks = await Promise.all(names.map(markOf));
  const newMark = marks.find((mark) => mark !== undefined && mark !== marks[0]);
  expect(newMark).toBeDefined();

  for (const name of ['first', ...names]) {
    expect(await corral.rft.grade({ trace: name })).toMatchObject({ status: 200, body: { score: 1 } });
  }
  await expect
    .poll(
      async () => (await corral.fleet.sandboxes()).every(({ sandbox }) => sandbox.startsWith(newMark ?? '')),
      soon,
    )
    .toBe(true);
  await turn(newer);
  expect(await call('last', 'c1')).toMatchObject(answered('c1'));
  expect(await markOf('last')).toBe(newMark);
  expect(pids()).toEqual(before);
});
