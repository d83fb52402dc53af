import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from '#cli/command-error.ts';
import { run, tryRun } from '../machine/run.ts';

const modules = join(import.meta.dirname, '..', 'go');

export const moduleNames = async (): Promise<readonly string[]> => (await readdir(modules)).toSorted();

export const moduleFolder = (module: string): string => join(modules, module);

/** Everything that we say of a module: go.mod, go.sum, and the source of a program of ours. */
export async function moduleFiles(module: string): Promise<readonly Buffer[]> {
  const folder = moduleFolder(module);
  const names = (await readdir(folder)).toSorted();
  return Promise.all(names.map((name) => readFile(join(folder, name))));
}

/** The slowest build takes 3 minutes on two idle cores; a busy machine may take long. */
const buildTimeoutMs = 30 * 60_000;

export type Build = {
  readonly module: string;
  readonly package: string;
  readonly linkerFlags: string;
  readonly needsSeccomp?: true;
  readonly output: string;
};

/** Builds one program, at low priority and with two compilers at a time, so that the machine stays of use. */
export async function goBuild(build: Build): Promise<void> {
  const { module, package: name, linkerFlags, needsSeccomp, output } = build;
  const tags = needsSeccomp === true ? ['-tags', 'seccomp'] : [];
  const env = { ...goEnvironment(), ...(needsSeccomp === true ? { CGO_ENABLED: '1' } : {}) };
  const flags = ['-mod=readonly', '-trimpath', '-buildvcs=false', '-p=2', ...tags, '-ldflags', linkerFlags];
  const argv = ['nice', '-n', '10', 'go', 'build', ...flags, '-o', output, name];
  await run(argv, { cwd: moduleFolder(module), env, timeoutMs: buildTimeoutMs });
}

/** The folder of a dependency's source, which is fetched if it must be. */
export async function sourceOf(module: string, dependency: string): Promise<string> {
  const cwd = moduleFolder(module);
  await run(['go', 'mod', 'download', dependency], { cwd, env: goEnvironment(), timeoutMs: buildTimeoutMs });
  const listed = await run(['go', 'list', '-m', '-f', '{{.Dir}}', dependency], {
    cwd,
    env: goEnvironment(),
  });
  return listed.trim();
}

/** Throws, with what to do, when there is no Go, or one that is too old and may not fetch a newer one. */
export async function requireGo(): Promise<void> {
  if ((await tryRun(['go', 'version'])) === null) throw noGo('there is no go on the PATH');
  // kwok names the newest Go of all our modules; asked inside of it, go fetches that one if it may.
  const place = { cwd: moduleFolder('kwok'), env: goEnvironment(), timeoutMs: buildTimeoutMs };
  await run(['go', 'version'], place).catch((error: unknown) => {
    throw noGo(error instanceof Error ? error.message : String(error), error);
  });
}

const noGo = (reason: string, cause?: unknown): CommandError =>
  new CommandError(
    `Kubernetes is built from its Go modules, which is not possible: ${reason}`,
    'this machine',
    'install Go 1.26 or newer (https://go.dev/dl), or any from 1.21 on that may fetch it (GOTOOLCHAIN=auto)',
    cause,
  );

/** Static programs, since they run beside any libc. Some systems' Go fetches no newer one unless told that it may. */
const goEnvironment = (): NodeJS.ProcessEnv => ({
  GOTOOLCHAIN: 'auto',
  ...process.env,
  CGO_ENABLED: '0',
});
