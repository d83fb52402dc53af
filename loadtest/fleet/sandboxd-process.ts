import { readFile } from 'node:fs/promises';
import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';

/** The daemon's pid as the host sees it: the first child of the sandbox's process 1. Null when it has ended. */
export async function sandboxdOf({ pid }: Pick<LocalSandbox, 'pid'>): Promise<number | null> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const first = Number(children.trim().split(' ')[0]);
  return first > 0 ? first : null;
}
