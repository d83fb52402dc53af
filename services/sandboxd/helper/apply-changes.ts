import { type ReadEntry, readTar, TarError } from '#src/protocol/sandboxd/tar.ts';
import { ChangedFolders, type ChangedFoldersRules } from './changed-folders.ts';
import { reportErrno } from './print.ts';

/** All paths that are removed, with what JSON adds. */
const longestHeadBytes = 8 * 1024 * 1024;

/** What sandboxd gives this helper. */
export type ApplyTask = ChangedFoldersRules;

/**
 * Reads a line of JSON, `{removed}`, and a tar of absolute paths from stdin. It removes and writes below some folders and nowhere else.
 * Returns the exit code.
 */
export async function applyChanges(taskJson: string): Promise<0 | 1> {
  try {
    const folders = new ChangedFolders(JSON.parse(taskJson) as ApplyTask);
    const body = new Body(process.stdin);
    const { removed } = JSON.parse(await body.head()) as { readonly removed: unknown };
    for (const path of textsOf(removed)) folders.remove(path);
    const written = { bytes: 0, entries: 0 };
    for await (const entry of readTar(body.rest())) {
      written.bytes += entry.bytes;
      written.entries += 1;
      await write(folders, entry);
    }
    folders.finish();
    process.stdout.write(JSON.stringify(written));
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

function textsOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new TarError('the head of the changes is not a list of paths');
}

async function write(folders: ChangedFolders, entry: ReadEntry): Promise<void> {
  const path = entry.path.replace(/\/$/, '');
  switch (entry.kind) {
    case 'folder':
      return folders.makeFolder(path, entry.mode);
    case 'file':
      return folders.writeFile(path, entry);
    case 'link':
      return folders.writeLink(path, entry.target ?? '');
    case 'hard_link':
      throw new TarError(`${path} is a hard link`);
  }
}

const newline = 0x0a;

/** A line and what follows it. */
class Body {
  readonly #chunks: AsyncIterator<Buffer>;
  #begun: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  async head(): Promise<string> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const next = await this.#chunks.next();
      if (next.done === true) throw new TarError('the changes were cut off in their head');
      const end = next.value.indexOf(newline);
      parts.push(end === -1 ? next.value : next.value.subarray(0, end));
      bytes += next.value.length;
      if (end !== -1) {
        this.#begun = next.value.subarray(end + 1);
        return Buffer.concat(parts).toString('utf8');
      }
      if (bytes > longestHeadBytes) throw new TarError('the head of the changes is too long');
    }
  }

  async *rest(): AsyncGenerator<Uint8Array> {
    if (this.#begun.length > 0) yield this.#begun;
    for (let next = await this.#chunks.next(); next.done !== true; next = await this.#chunks.next())
      yield next.value;
  }
}
