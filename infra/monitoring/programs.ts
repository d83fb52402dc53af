import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { CommandError } from '#cli/command-error.ts';
import { run, tryRun } from '../cluster/machine/run.ts';

/*
 * Prometheus and what checks its rules and Alertmanager's routes, out of Debian's packages: unpacked into a folder of the cache.
 * Nothing is installed, no service is started, and no root is needed.
 */

const names = ['prometheus', 'promtool', 'amtool'] as const;
export type MonitoringPrograms = Readonly<Record<(typeof names)[number], string>>;

const packages = ['prometheus', 'prometheus-alertmanager'] as const;

/** Thirty megabytes, on a slow line. */
const downloadTimeoutMs = 300_000;

/**
 * Finds the programs, on the PATH too. Fetches missing programs, and reports a line before and after. Throws a CommandError if a
 * program is missing and cannot be fetched.
 */
export async function monitoringPrograms(told: (line: string) => void): Promise<MonitoringPrograms> {
  const found = inFolder(cacheFolder()) ?? onPath();
  if (found !== null) return found;
  await fetchInto(cacheFolder(), told);
  const fetched = inFolder(cacheFolder());
  if (fetched === null) throw missing(`the packages ${packages.join(' and ')} hold no ${names.join(', ')}`);
  return fetched;
}

/** setup/setup.sh looks for the same folder. */
const cacheFolder = (): string =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'corral', 'monitoring');

const inFolder = (folder: string): MonitoringPrograms | null => among([folder]);
const onPath = (): MonitoringPrograms | null => among((process.env['PATH'] ?? '').split(delimiter));

function among(folders: readonly string[]): MonitoringPrograms | null {
  const where = (name: string) =>
    folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  const [prometheus, promtool, amtool] = names.map(where);
  if (prometheus === undefined || promtool === undefined || amtool === undefined) return null;
  return { prometheus, promtool, amtool };
}

async function fetchInto(folder: string, told: (line: string) => void): Promise<void> {
  if ((await tryRun(['apt-get', '--version'])) === null)
    throw missing('this system has no apt-get, which fetches them');
  told(`fetching Prometheus, promtool and amtool (30 MB) into ${folder}; nothing is installed or started`);
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, 'fetching-'));
  try {
    // apt downloads as a user of its own where it may.
    await chmod(work, 0o755);
    await download(work);
    for (const name of await debsIn(work)) await run(['dpkg', '-x', join(work, name), join(work, 'root')]);
    // Renamed one by one, so that a program is either whole or absent, and two processes may fetch at once.
    for (const name of names) await rename(join(work, 'root/usr/bin', name), join(folder, name));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  told('Prometheus, promtool and amtool are there');
}

/** Fetches the package lists first if they are missing, or name a version that the mirror no longer has. */
async function download(cwd: string): Promise<void> {
  const argv = ['apt-get', 'download', ...packages];
  if ((await tryRun(argv, { cwd, timeoutMs: downloadTimeoutMs })) !== null) return;
  if (process.getuid?.() === 0) await tryRun(['apt-get', 'update'], { timeoutMs: downloadTimeoutMs });
  try {
    await run(argv, { cwd, timeoutMs: downloadTimeoutMs });
  } catch (error) {
    throw missing(error instanceof Error ? error.message : String(error), error);
  }
}

const debsIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.deb'));

const missing = (why: string, cause?: unknown): CommandError =>
  new CommandError(
    `promtool and amtool are not there, and could not be fetched: ${why}`,
    'this machine',
    `with a Debian mirror in reach run it again (as root, so that the lists of packages are fetched too), or put ${names.join(', ')} on the PATH`,
    cause,
  );
