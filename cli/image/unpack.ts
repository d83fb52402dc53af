import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { imageConfigFile } from '#src/model/environment.ts';
import { TarError } from '#src/protocol/sandboxd/tar.ts';
import { CommandError } from '../command-error.ts';
import { bytes } from '../print/amounts.ts';
import { openImageArchive } from './image-archive.ts';
import { UnpackedTree } from './unpacked-tree.ts';

export type Unpacked = { readonly folder: string; readonly config: string } & UnpackedTree['counted'];

/**
 * Makes an image's archive a folder that can be a sandbox's root, with the image's configuration next to it. The folder appears
 * when it is whole: until then its name ends in `.part`, and what an earlier try left there is removed. Throws `CommandError`.
 */
export async function unpackImage(file: string, to: string, say: (words: string) => void): Promise<Unpacked> {
  if (existsSync(to))
    throw new CommandError(`${to} is there already`, 'yours', 'name another folder with --to');
  const part = `${to}.part`;
  try {
    return await unpackTo(part, file, to, say);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    throw explained(error, file, to);
  }
}

async function unpackTo(
  part: string,
  file: string,
  to: string,
  say: (words: string) => void,
): Promise<Unpacked> {
  const image = await openImageArchive(file);
  rmSync(part, { recursive: true, force: true });
  mkdirSync(dirname(part), { recursive: true });
  mkdirSync(part);
  // The image's own mode of the root is set at the end, if a layer has one.
  chmodSync(part, 0o755);
  const tree = new UnpackedTree(realpathSync(part));
  for (const [index, layer] of image.layers.entries()) {
    say(`layer ${index + 1} of ${image.layers.length}, ${bytes(layer.bytes)}`);
    await tree.add(layer.open());
  }
  addMountPoints(part);
  tree.finish();
  const config = imageConfigFile(to);
  // First, so that the folder never exists without its configuration.
  writeFileSync(config, image.config);
  renameSync(part, to);
  return { folder: to, config, ...tree.counted };
}

/** Container engines mount over these files, so a container's export has them, empty. */
function addMountPoints(root: string): void {
  const etc = join(root, 'etc');
  if (lstatSync(etc, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  for (const name of ['hosts', 'hostname']) {
    const file = join(etc, name);
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) writeFileSync(file, '', { mode: 0o644 });
  }
}

const saveAgain = 'write the archive again: docker save IMAGE -o FILE';
/** Error codes of decompressors for corrupt input. */
const brokenBytes = /^(?:Z_|ZSTD_|ERR_ZSTD|ERR_ZLIB)/;

function explained(error: unknown, file: string, to: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code = '', path = '' } = error as NodeJS.ErrnoException;
  if (error instanceof TarError || brokenBytes.test(code))
    return new CommandError(`${file} cannot be unpacked: ${error.message}`, 'yours', saveAgain, error);
  if (code === 'ENOENT' && path === file)
    return new CommandError(`there is no file ${file}`, 'yours', saveAgain, error);
  if (code === 'ENOSPC') {
    return new CommandError(
      `there is no room for ${to}`,
      'this machine',
      'make room, or name another disk with --to',
      error,
    );
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new CommandError(
      error.message,
      'this machine',
      'name a folder that you may write, or run this as root',
      error,
    );
  }
  return error;
}
