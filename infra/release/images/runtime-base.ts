import { realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Architecture } from '#src/protocol/sandboxd/system-call-filter.ts';
import { fileEntry } from '#infra/images/contents/tree.ts';
import type { Entry } from '#infra/images/oci/tar.ts';
import { debianRoot, type DebianPackage, type DebianRoot, statusFile } from '../debian.ts';
import { nodeBinary, type NodeBinary } from '../node-binary.ts';

/** What Node needs of a system, from Debian. */
const packages = ['libstdc++6', 'libc6', 'libgcc-s1'];
const libraries = [
  'libdl.so.2',
  'libstdc++.so.6',
  'libm.so.6',
  'libgcc_s.so.1',
  'libpthread.so.0',
  'libc.so.6',
];

const places: Readonly<Record<Architecture, { readonly libraries: string; readonly loader: string }>> = {
  x64: { libraries: 'x86_64-linux-gnu', loader: 'lib64/ld-linux-x86-64.so.2' },
  arm64: { libraries: 'aarch64-linux-gnu', loader: 'lib/ld-linux-aarch64.so.1' },
};

/** Node and the libraries that it needs, as files of this machine. */
export type Runtime = {
  readonly node: NodeBinary;
  /** By the name that Node looks for. */
  readonly libraries: ReadonlyMap<string, string>;
  readonly loader: { readonly path: string; readonly file: string };
  /** Where an image has the libraries. */
  readonly libraryFolder: string;
  readonly debian: DebianRoot;
};

type Wish = { readonly architecture: Architecture; readonly revision: string; readonly cacheDir: string };

export async function nodeRuntime({ architecture, revision, cacheDir }: Wish): Promise<Runtime> {
  const debian = await debianRoot({ architecture, packages, without: [], revision }, cacheDir);
  const place = places[architecture];
  const found = await Promise.all(
    libraries.map(async (name) => [name, await findLibrary(debian, place.libraries, name)] as const),
  );
  return {
    node: await nodeBinary(architecture, cacheDir),
    libraries: new Map(found),
    loader: {
      path: place.loader,
      file: await findLibrary(debian, place.libraries, basename(place.loader)),
    },
    libraryFolder: join('lib', place.libraries),
    debian,
  };
}

/** Debian 12 still ships some below `/lib` and some below `/usr/lib`. */
async function findLibrary({ folder }: DebianRoot, place: string, name: string): Promise<string> {
  for (const above of ['lib', 'usr/lib']) {
    const file = await realpath(join(folder, above, place, name)).catch(() => null);
    if (file !== null) return file;
  }
  throw new Error(`Debian's packages have no ${name} for ${place}`);
}

/** The lowest layer of an image whose programs are Node's: nothing else, not even a shell. */
export function runtimeLayer(runtime: Runtime): readonly Entry[] {
  const { node, loader, libraryFolder, debian } = runtime;
  return [
    fileEntry(node.file, 'usr/local/bin/node', true),
    fileEntry(loader.file, loader.path, true),
    ...[...runtime.libraries].map(([name, file]) => fileEntry(file, join(libraryFolder, name), true)),
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    text('etc/passwd', 'corral:x:65532:65532:corral:/tmp:/sbin/nologin\n'),
    ...noticesOf(runtime),
    fileEntry(join(debian.folder, '..', 'packages'), statusFile, false),
  ];
}

/** Node's license, and those of Debian's packages. */
function noticesOf({ node, debian }: Runtime): readonly Entry[] {
  return [
    fileEntry(node.license, 'usr/share/doc/nodejs/LICENSE', false),
    ...debian.packages.flatMap((one) => copyrightOf(debian, one)),
  ];
}

const copyrightOf = ({ folder }: DebianRoot, { name }: DebianPackage): readonly Entry[] => {
  // Packages made of one source share the file of the one that all depend on.
  const owner = name.startsWith('lib') && name !== 'libc6' ? 'gcc-12-base' : name;
  const path = join('usr/share/doc', owner, 'copyright');
  return [fileEntry(join(folder, path), join('usr/share/doc', name, 'copyright'), false)];
};

export const text = (path: string, content: string): Entry => ({
  kind: 'text',
  path,
  mode: 0o644,
  text: content,
});
