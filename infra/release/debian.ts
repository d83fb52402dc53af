import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Architecture } from '#src/protocol/sandboxd/system-call-filter.ts';
import { keepNewest } from '../images/keep-newest.ts';
import { publishOnce } from '../payload/publish-once.ts';

const run = promisify(execFile);

export const suite = 'bookworm';
export const debianArchitectures: Readonly<Record<Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** A package of Debian that a layer has, as its own control file says. */
export type DebianPackage = {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
};

export type DebianRoot = { readonly folder: string; readonly packages: readonly DebianPackage[] };

type Wanted = {
  readonly architecture: Architecture;
  readonly packages: readonly string[];
  /** Packages that come along and that nothing here runs. */
  readonly without: readonly string[];
  /** The commit: packages are looked up once for each, so that it is built twice from the same files. */
  readonly revision: string;
};

/** A commit has two of each architecture, and releases of two commits are compared. */
const keptRoots = 4;

/**
 * The files of Debian packages and of their dependencies, unpacked without running anything of them: packages of another
 * architecture are unpacked as well.
 */
export async function debianRoot(wanted: Wanted, cacheDir: string): Promise<DebianRoot> {
  const name = `release-debian-${wanted.architecture}`;
  const { dir } = await publishOnce(cacheDir, {
    name,
    key: createHash('sha256').update(JSON.stringify(wanted)).digest('hex').slice(0, 16),
    build: (folder) => fetchAndUnpack(wanted, folder),
  });
  await keepNewest(cacheDir, `${name}-`, keptRoots);
  const folder = join(dir, 'root');
  return { folder, packages: await readPackages(join(dir, 'packages')) };
}

async function fetchAndUnpack({ architecture, packages, without }: Wanted, folder: string): Promise<void> {
  const archives = join(folder, 'archives');
  const root = join(folder, 'root');
  await mkdir(archives);
  await fetch(debianArchitectures[architecture], packages, { scratch: join(folder, 'scratch'), archives });
  await mkdir(root);
  const kept: string[] = [];
  for (const archive of (await readdir(archives)).toSorted()) {
    if (without.some((name) => archive.startsWith(`${name}_`))) continue;
    await run('dpkg-deb', ['--extract', join(archives, archive), root]);
    const { stdout } = await run('dpkg-deb', ['--field', join(archives, archive)]);
    kept.push(`${stdout.trim()}\nStatus: install ok installed`);
  }
  await writeFile(join(folder, 'packages'), `${kept.join('\n\n')}\n`);
  await rm(archives, { recursive: true });
}

/** mmdebstrap asks apt, with lists and settings of its own. */
async function fetch(
  architecture: string,
  packages: readonly string[],
  { scratch, archives }: { readonly scratch: string; readonly archives: string },
): Promise<void> {
  const keep = `--extract-hook=cp "$1"/var/cache/apt/archives/*.deb '${archives}'`;
  const how = ['--variant=extract', `--architectures=${architecture}`, `--include=${packages.join(',')}`];
  try {
    await run('mmdebstrap', ['--quiet', ...how, keep, suite, scratch], { maxBuffer: 1 << 26 });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The control fields of each package, as `dpkg --status` has them: scanners for vulnerabilities look for this file. */
export const statusFile = 'var/lib/dpkg/status';

async function readPackages(file: string): Promise<readonly DebianPackage[]> {
  const { stdout } = await run('cat', [file], { maxBuffer: 1 << 26 });
  return stdout
    .trim()
    .split(/\n\n/)
    .map((stanza) => ({
      name: fieldOf(stanza, 'Package'),
      version: fieldOf(stanza, 'Version'),
      architecture: fieldOf(stanza, 'Architecture'),
    }));
}

const fieldOf = (stanza: string, name: string): string =>
  stanza
    .split('\n')
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2) ?? '';
