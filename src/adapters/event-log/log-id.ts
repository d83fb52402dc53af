import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '#src/ports/random.ts';

const fileName = 'log-id';
const idLength = 16;
const idPattern = /^[0-9a-z]{16}$/;

/**
 * The name of a folder of events among all of the fleet, kept in it: whoever starts on the folder again, or shares it, tells
 * the same log. Of a folder that cannot be used it is a new one each time.
 */
export async function logIdOf(folder: string, random: Random): Promise<string> {
  const id = random.text(idLength);
  const path = join(folder, fileName);
  // A link appears with all that is in it: of two that come at once one is first, and the other never reads half a name.
  const draft = `${path}.${id}`;
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(draft, id, { mode: 0o600 });
    await link(draft, path).catch(() => undefined);
    const kept = await readFile(path, 'utf8');
    return idPattern.test(kept) ? kept : id;
  } catch {
    return id;
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}
