import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Of every file below `folder`, as `sha256sum --check` reads it. */
export async function writeChecksums(folder: string, name: string): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found
    .filter((entry) => entry.isFile() && entry.name !== name)
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
  const lines: string[] = [];
  for (const file of files) lines.push(`${await sha256Of(join(folder, file))}  ${file}\n`);
  await writeFile(join(folder, name), lines.join(''));
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer);
  return hash.digest('hex');
}
