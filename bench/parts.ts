import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PartName } from '#cli/fleet/part-process.ts';
import { parseIdentity } from '#cli/fleet/process-identity.ts';

/** The process that is a part of the fleet on this state folder. */
export async function pidOfPart(stateDir: string, part: PartName): Promise<number> {
  const identity = parseIdentity(await readFile(join(stateDir, 'parts', `${part}.json`), 'utf8'));
  if (identity === null) throw new Error(`no record of the ${part} in ${stateDir}`);
  return identity.pid;
}
