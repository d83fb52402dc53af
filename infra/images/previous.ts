import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from '../payload/repository.ts';
import { type BuiltImage, defaultCacheDir, keptArchive } from './build.ts';
import type { Image } from './oci/archive.ts';

const run = promisify(execFile);

/**
 * The images of the previous version, for tests of upgrades: made from the commit that the file `previous` names, by
 * that commit's own catalogue. The file changes with each release.
 */
export const previousNames = {
  corral: 'corral.local/corral:previous',
  sandboxd: 'corral.local/sandboxd:previous',
} as const;

type Catalogue = {
  readonly corralImage: (cacheDir: string) => Promise<Image>;
  readonly sandboxdImage: (cacheDir: string) => Promise<Image>;
};

export type PreviousImages = Readonly<Record<keyof typeof previousNames, BuiltImage>>;

/** A commit never changes, so once both archives are there, neither git nor npm is asked again. */
export async function buildPreviousImages(cacheDir: string = defaultCacheDir()): Promise<PreviousImages> {
  await mkdir(cacheDir, { recursive: true });
  const commit = await previousCommit();
  // In the cache and not in /tmp, which may be memory: a tree of sources, and packages where they differ from ours.
  const folder = await mkdtemp(join(cacheDir, '.previous-'));
  let found: Promise<Catalogue> | null = null;
  const catalogue = () => (found ??= catalogueOf(commit, folder));
  const build = (which: keyof typeof previousNames, make: () => Promise<Image>) => {
    // Our Node goes into both, whatever the commit had.
    const key = `${commit.slice(0, 12)}-${process.versions.node}-${process.arch}`.replaceAll('.', '-');
    return keptArchive(cacheDir, { which: `previous-${which}`, key, name: previousNames[which] }, make);
  };
  try {
    const corral = await build('corral', async () => (await catalogue()).corralImage(cacheDir));
    const sandboxd = await build('sandboxd', async () => (await catalogue()).sandboxdImage(cacheDir));
    return { corral, sandboxd };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The commit that the file `previous` names: the release that may serve a fleet next to this one while it is upgraded. */
export const previousCommit = async (): Promise<string> =>
  (await readFile(join(import.meta.dirname, 'previous'), 'utf8')).trim();

async function catalogueOf(commit: string, folder: string): Promise<Catalogue> {
  await checkOut(repository, commit, folder);
  await givePackages(folder);
  return (await import(join(folder, 'infra/images/catalogue.ts'))) as Catalogue;
}

/** The commit's files, and nothing in the repository that somebody would have to remove again. */
export async function checkOut(from: string, commit: string, folder: string): Promise<void> {
  const git = (...args: readonly string[]) => run('git', ['-C', from, ...args]);
  await git('cat-file', '-e', `${commit}^{commit}`).catch((cause: unknown) => {
    throw new Error(
      `git finds no commit ${commit}, which infra/images/previous names, in ${from}: in a shallow clone, ` +
        '`git fetch --unshallow` brings it; elsewhere let the file name a commit of this history',
      { cause },
    );
  });
  const archive = join(folder, 'sources.tar');
  await git('archive', `--output=${archive}`, commit);
  await run('tar', ['-xf', archive, '-C', folder]);
  await rm(archive);
}

/** Ours, where the commit wants the same; otherwise its own, as the set-up installs them. */
async function givePackages(folder: string): Promise<void> {
  const [theirs, ours] = await Promise.all([folder, repository].map(lockFileOf));
  if (theirs === ours) return symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const options = ['--no-save', '--ignore-scripts', '--no-fund', '--no-audit', '--loglevel=error'];
  await run('npm', ['install', ...options], { cwd: folder, timeout: npmTimeoutMs });
}

/** A minute on an idle machine with an empty cache. */
const npmTimeoutMs = 600_000;

const lockFileOf = (folder: string): Promise<string> => readFile(join(folder, 'package-lock.json'), 'utf8');
