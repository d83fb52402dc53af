import { readdir, readFile } from 'node:fs/promises';

/** Memory that only this process has, in bytes: what one more of it costs. */
export async function privateBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return kibibytes(text, 'Private_Clean') + kibibytes(text, 'Private_Dirty');
}

/** The most memory that the process ever had resident, in bytes, since it started or since {@link resetPeak}. */
export async function peakResidentBytes(pid: number): Promise<number> {
  return kibibytes(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmHWM');
}

export async function residentBytes(pid: number): Promise<number> {
  return kibibytes(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmRSS');
}

/** The process and everything below it. */
export async function familyOf(pid: number): Promise<readonly number[]> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const children = await Promise.all(
    tasks.map(async (task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  const pids = children.flatMap((text) => text.split(' ').filter(Boolean).map(Number));
  return [pid, ...(await Promise.all(pids.map(familyOf))).flat()];
}

function kibibytes(text: string, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text);
  if (found === null) throw new Error(`the kernel does not say ${field}`);
  return Number(found[1]) * 1024;
}
