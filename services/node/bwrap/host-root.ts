import { type Dirent, readdirSync, readlinkSync } from 'node:fs';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ownNames } from '../image/accounts.ts';
import { copyHostEtc } from './host-etc.ts';
import type { ListNames } from './host-settings.ts';
import type { Entry, ListFolder } from './root-layout.ts';

/** Of the host's root a sandbox sees its programs and libraries, never what people or services keep there. */
const programs = /^(usr|bin|sbin|lib|lib32|lib64|libx32)$/;

/** Of /etc it sees what programs need to start and to speak TLS: no accounts, no keys, no names of this host. Their settings: `host-etc.ts`. */
export const hostEtc = [
  'alternatives',
  'ca-certificates.conf',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'os-release',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
] as const;

/** Our own files of /etc: the two users that a sandbox has, beside root. */
const ownEtc = {
  passwd: [
    'root:x:0:0:root:/root:/bin/sh',
    ...ownNames.passwd,
    'nobody:x:65534:65534:nobody:/nonexistent:/bin/false',
  ],
  group: ['root:x:0:', ...ownNames.group, 'nogroup:x:65534:'],
  hosts: ['127.0.0.1 localhost', '::1 localhost'],
  'nsswitch.conf': ['passwd: files', 'group: files', 'hosts: files'],
} as const;

export const ownEtcNames = Object.keys(ownEtc) as readonly string[];

/** Next to them: copies of settings of the host's programs. */
export const copiesFolder = 'host';

/** Beside them, and bound over what of the host is kept from sandboxes. */
export const emptyFile = 'empty';

/** Writes our own files of /etc into `folder`; every sandbox of kind `host` binds them. */
export async function writeOwnEtc(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  // Whatever our umask is: a sandbox's ids are nobody's here.
  await chmod(folder, 0o755);
  for (const [name, lines] of Object.entries(ownEtc)) {
    await writeFile(join(folder, name), `${lines.join('\n')}\n`, { mode: 0o644 });
  }
  await writeFile(join(folder, emptyFile), '', { mode: 0o644 });
  copyHostEtc(join(folder, copiesFolder));
}

/** What only the kinds are wanted of: a tenth of the time. */
export const listHostNames: ListNames = async (path) => {
  const found = await readdir(path, { withFileTypes: true });
  const wanted = path === '/' ? found.filter(({ name }) => programs.test(name)) : found;
  return wanted.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
};

/** The names in a folder of this host, without following links. */
export const listFolder: ListFolder = (path) => listWhere(path, () => true);

/** The host's root as sandboxes see it. */
export const listHostRoot: ListFolder = (path) =>
  path === '/' ? listWhere(path, (name) => programs.test(name)) : listFolder(path);

/** Each start lists again what may have changed; so only what is wanted is looked at, and only links are looked into. */
function listWhere(folder: string, isWanted: (name: string) => boolean): readonly Entry[] {
  const found = readdirSync(folder, { withFileTypes: true });
  const wanted = found.filter(({ name }) => isWanted(name));
  return wanted.toSorted(byName).map((entry) => entryOf(folder, entry));
}

const byName = (one: Dirent, other: Dirent) => (one.name < other.name ? -1 : 1);

function entryOf(folder: string, entry: Dirent): Entry {
  const { name } = entry;
  const kind = kindOf(entry);
  return kind === 'link' ? { name, kind, to: readlinkSync(join(folder, name)) } : { name, kind };
}

function kindOf(entry: Dirent): Entry['kind'] {
  if (entry.isSymbolicLink()) return 'link';
  return entry.isDirectory() ? 'folder' : 'file';
}
