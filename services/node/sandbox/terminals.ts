import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mostSandboxes } from '../own-ids.ts';
import { mostTerminals } from './stage.ts';

/** Of the whole machine, whatever namespaces there are. */
const settings = '/proc/sys/kernel/pty';

/**
 * Makes the machine's pseudo terminals enough for as many sandboxes as there are ids for, each of which takes all of its own. Otherwise 96
 * policies that do so leave none, and `script`, `tmux` or a terminal fails in an honest rollout. A terminal that nothing opens takes nothing.
 * Returns how many the machine lacks: 0 unless the host refuses it.
 */
export async function makeRoomForTerminals(folder = settings): Promise<number> {
  try {
    const needed = (await numberIn(join(folder, 'reserve'))) + mostSandboxes * mostTerminals;
    const most = await numberIn(join(folder, 'max'));
    return most >= needed ? 0 : await raised(join(folder, 'max'), needed, needed - most);
  } catch {
    // This kernel has no such limit.
    return 0;
  }
}

async function raised(file: string, needed: number, lacking: number): Promise<number> {
  try {
    await writeFile(file, `${needed}\n`);
    return 0;
  } catch {
    return lacking;
  }
}

const numberIn = async (file: string): Promise<number> => Number(await readFile(file, 'utf8'));
