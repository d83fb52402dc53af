import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ByteRange, ObjectStore, StoredObject } from '#src/ports/object-store.ts';

/** A draft's name begins with this, and no object's does. */
const draftMark = '.draft-';

/** Objects are files below a folder, for its owner alone: they hold what policies wrote, and the truth of dataset rows. */
export function createFolderStore(folder: string): ObjectStore {
  const pathOf = (name: string) => join(folder, ...partsOf(name));
  return {
    place: folder,
    put: async (name, bytes) => putFile(pathOf(name), bytes),
    get: async (name, range) => getFile(pathOf(name), range),
    list: (prefix) => listFiles(folder, prefix),
    folders: async (prefix) => {
      const entries = await entriesOf(pathOf(prefix));
      return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted();
    },
    remove: async (name) => rm(pathOf(name), { force: true }),
  };
}

/** Names come from listings and from ids: none leads out of the folder. */
function partsOf(name: string): readonly string[] {
  const parts = name.split('/').filter((part) => part !== '');
  if (
    parts.some((part) => part === '..' || part === '.' || part.startsWith(draftMark) || part.includes('\0'))
  )
    throw new Error(`not the name of an object: ${name}`);
  return parts;
}

/** In a draft first, so that a reader and a crash never find half of it. */
async function putFile(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = join(dirname(path), `${draftMark}${randomUUID()}`);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

async function getFile(path: string, range: ByteRange | undefined): Promise<Uint8Array | null> {
  const file = await open(path).catch(nullIfMissing);
  if (file === null) return null;
  try {
    if (!(await file.stat()).isFile()) return null;
    if (range === undefined) return await file.readFile();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(range.bytes), 0, range.bytes, range.fromByte);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function* listFiles(folder: string, prefix: string): AsyncGenerator<StoredObject> {
  const entries = (await entriesOf(join(folder, prefix))).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const name = `${prefix}${entry.name}`;
    if (entry.isDirectory()) yield* listFiles(folder, `${name}/`);
    if (!entry.isFile() || entry.name.startsWith(draftMark)) continue;
    const found = await stat(join(folder, name)).catch(nullIfMissing);
    if (found !== null) yield { name, bytes: found.size, writtenAtMs: found.mtimeMs };
  }
}

/** A file system of its own has this folder, which only root may enter. */
const ofFileSystem = 'lost+found';

async function entriesOf(path: string) {
  const entries = (await readdir(path, { withFileTypes: true }).catch(nullIfMissing)) ?? [];
  return entries.filter(({ name }) => name !== ofFileSystem);
}

function nullIfMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}
