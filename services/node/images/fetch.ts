import { chmod, chown, lstat, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../disk.ts';
import type { IdRanges } from '../own-ids.ts';
import { authFor } from './auth-files.ts';
import { type ConfinedSite, type Ended, runConfined } from './confined.ts';
import type { Blob } from './manifest.ts';
import { archiveInside, type Source } from './reference.ts';
import { troubleOf } from './registry-trouble.ts';

/** Reads of one pull. Each process has an id that no other has at that time, so it can neither see nor signal another pull's. */
export type Reader = {
  /** The image's configuration, as it is. */
  inspect(signal: AbortSignal): Promise<string>;
  /** Copies the image as an OCI layout into `folder` of the pull, without the blobs that are `known`. */
  copy(known: readonly Blob[], signal: AbortSignal): Promise<string>;
};

export type ReaderOptions = {
  readonly reference: string;
  readonly source: Source;
  /** Of the pull, and only its. */
  readonly folder: string;
  readonly name: string;
  readonly authFiles: readonly string[];
  readonly idRanges: IdRanges;
  readonly site: ConfinedSite;
};

/** A registry that says nothing for so long is not available now. An archive is read to its end, and decompressed. */
const inspectTimeoutMs = { registry: 15_000, archive: 10 * 60_000 };
const copyTimeoutMs = 30 * 60_000;

const inside = {
  auth: '/auth.json',
  authorities: '/authorities.pem',
  out: '/out',
  temporary: '/tmp',
} as const;
/** skopeo keeps an archive's files in it while it reads them. */
const temporaryName = 'temporary';
const outName = 'out';

export function createReader(options: ReaderOptions): Reader {
  const { source, folder, idRanges } = options;
  const withId = async (read: (id: number) => Promise<Ended>): Promise<string> => {
    const id = await idRanges.take();
    try {
      const ended = await read(id);
      if (ended.code !== 0) throw troubleOf(options.reference, source, ended);
      return ended.stdout;
    } finally {
      idRanges.free(id);
    }
  };
  return {
    inspect: (signal) =>
      withId((id) => {
        const timeoutMs = inspectTimeoutMs[source.registry === null ? 'archive' : 'registry'];
        return skopeo(inspectArguments(source), id, { ...options, signal }, timeoutMs);
      }),
    copy: async (known, signal) => {
      const out = join(folder, outName);
      await removeTree(out);
      await withId(async (id) => {
        await makeOut(out, known, id);
        return skopeo(copyArguments(source), id, { ...options, signal }, copyTimeoutMs);
      });
      await refuseLinks(out);
      return out;
    },
  };
}

const tls = ({ isPlain }: Source, flag: string) => (isPlain ? [`${flag}=false`] : []);

const inspectArguments = (source: Source) => [
  'inspect',
  '--config',
  '--raw',
  '--no-tags',
  '--authfile',
  inside.auth,
  ...tls(source, '--tls-verify'),
  source.name,
];

/** Layers that are not packed stay so: they are unpacked at once. */
const copyArguments = (source: Source) => [
  'copy',
  '--quiet',
  '--src-authfile',
  inside.auth,
  '--dest-oci-accept-uncompressed-layers',
  ...tls(source, '--src-tls-verify'),
  source.name,
  `oci:${inside.out}`,
];

async function skopeo(
  args: readonly string[],
  id: number,
  options: ReaderOptions & { readonly signal: AbortSignal },
  timeoutMs: number,
): Promise<Ended> {
  const { source, folder, name, authFiles, site, signal } = options;
  const auth = join(folder, `auth-${id}.json`);
  const temporary = join(folder, temporaryName);
  await mkdir(temporary, { recursive: true });
  await chown(temporary, id, id);
  await writeOwned(auth, await authFor(source.isAnonymous ? null : source.registry, authFiles), id);
  const authorities = await writeAuthorities(join(folder, `authorities-${id}.pem`), id);
  try {
    return await runConfined(
      {
        name,
        argv: ['skopeo', '--insecure-policy', '--tmpdir', inside.temporary, ...args],
        mounts: [
          ['--ro-bind', auth, inside.auth],
          ...(authorities === null ? [] : [['--ro-bind', authorities, inside.authorities]]),
          ['--bind', temporary, inside.temporary],
          ['--bind-try', join(folder, outName), inside.out],
          ...(source.archive === null ? [] : [['--ro-bind', source.archive, archiveInside]]),
        ],
        variables: {
          HOME: '/nonexistent',
          TMPDIR: inside.temporary,
          ...proxies(),
          ...(authorities === null ? {} : { [authoritiesVariable]: inside.authorities }),
        },
        as: { kind: 'user', id, network: source.registry !== null },
        overlay: null,
        timeoutMs,
        signal,
      },
      site,
    );
  } finally {
    for (const file of [auth, authorities]) if (file !== null) await rm(file, { force: true });
    await removeTree(temporary);
  }
}

async function writeOwned(file: string, text: string, id: number): Promise<void> {
  await writeFile(file, text, { mode: 0o400 });
  await chown(file, id, id);
}

/** Names a file with certificates of one's own authorities, as for other programs; those of this machine count too. */
const authoritiesVariable = 'SSL_CERT_FILE';

async function writeAuthorities(file: string, id: number): Promise<string | null> {
  const named = process.env[authoritiesVariable] ?? '';
  if (named === '') return null;
  await writeOwned(file, await readFile(named, 'utf8'), id);
  return file;
}

const proxyNames = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
const proxies = () =>
  Object.fromEntries(
    proxyNames.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );

/** skopeo does not fetch a blob that is there. An empty file of its size, which takes no disk, stands for one whose layer is unpacked. */
async function makeOut(out: string, known: readonly Blob[], id: number): Promise<void> {
  const blobs = join(out, 'blobs/sha256');
  await mkdir(blobs, { recursive: true });
  for (const folder of [out, join(out, 'blobs'), blobs]) await chown(folder, id, id);
  for (const { digest, size } of known) {
    const file = join(blobs, digest);
    await writeFile(file, '');
    await truncate(file, size);
    await chmod(file, 0o444);
  }
}

/** Its writer has ended, so no link can come later. */
async function refuseLinks(out: string): Promise<void> {
  for (const entry of await readdir(out, { recursive: true, withFileTypes: true })) {
    const found = await lstat(join(entry.parentPath, entry.name));
    if (!found.isFile() && !found.isDirectory())
      throw new Error(`${entry.name} is neither a file nor a folder`);
  }
}
