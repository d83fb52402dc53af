import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { watchMachineMemory } from './machine-memory.ts';

const gibibyte = 1024 ** 3;

describe('whether the machine had memory to spare', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-meminfo-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const file = () => join(folder, 'meminfo');
  /** A machine of 8 GiB, of which 2 GiB must stay available. */
  const available = (gibibytes: number) =>
    writeFile(
      file(),
      `MemTotal:        8388608 kB\nMemFree:          300000 kB\nMemAvailable:    ${gibibytes * 1024 ** 2} kB\nBuffers: 0 kB\n`,
    );

  test('it had, if a quarter was available at each look besides what the kill freed', async () => {
    await available(6);
    const machine = watchMachineMemory(file());
    await available(3);
    expect(machine.hadRoom(gibibyte)).toBe(true);
    expect(machine.hadRoom(gibibyte + 1)).toBe(false);
  });

  test('it had not, if it was short at a look between', async () => {
    await available(6);
    const machine = watchMachineMemory(file());
    await available(1);
    machine.look();
    await available(6);
    expect(machine.hadRoom(0)).toBe(false);
  });

  test('nothing is ruled out if it cannot be read', async () => {
    expect(watchMachineMemory(join(folder, 'nothing')).hadRoom(-gibibyte)).toBe(false);
    await writeFile(file(), 'MemTotal: 8388608 kB\n');
    expect(watchMachineMemory(file()).hadRoom(-gibibyte)).toBe(false);
  });

  test('of this machine it is read', () => {
    expect(watchMachineMemory().hadRoom(-totalmem())).toBe(true);
  });
});
