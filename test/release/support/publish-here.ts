import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '#cli/fleet/free-port.ts';
import { repository } from '#infra/payload/repository.ts';
import { releasePython } from '#infra/release/python.ts';
import { run, type Started } from './processes.ts';
import { startImageRegistry, startNpmRegistry, startPythonIndex } from './registries.ts';
import type { Release } from './release.ts';

const main = join(repository, 'infra/release/main.ts');

export type Published = { readonly release: Release; stop(): Promise<void> };

/** Builds the release, starts the registries on loopback and publishes it there, as the workflow does to real ones. */
export async function publishHere(say: (line: string) => void): Promise<Published> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-release-'));
  const started: Started[] = [];
  const stop = async () => {
    for (const one of started.toReversed()) await one.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    say('starting registries: docker-registry, pypiserver, verdaccio');
    const storage = join(folder, 'images');
    const images = await startImageRegistry(storage, `127.0.0.1:${await freePort(0)}`);
    started.push(images);
    const python = await startPythonIndex(join(folder, 'python'));
    started.push(python);
    const npm = await startNpmRegistry(join(folder, 'npm'));
    started.push(npm);
    const release: Release = {
      version: await versionHere(),
      outDir: join(folder, 'release'),
      registry: `${images.url.slice('http://'.length)}/team`,
      storage,
      npmUrl: npm.url,
      pythonUrl: python.url,
    };
    say('npm run release');
    await releaseCommand(release);
    say('publishing to the registries');
    await releaseCommand(release, '--publish');
    await publishPackages(release);
    return { release, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function versionHere(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return version;
}

const releaseCommand = ({ outDir, registry }: Release, ...more: readonly string[]) =>
  run(process.execPath, [main, '--out', outDir, ...more], {
    env: { ...process.env, CORRAL_REGISTRY: registry },
  });

async function publishPackages({ outDir, npmUrl, pythonUrl }: Release): Promise<void> {
  const wheels = await filesIn(join(outDir, 'python'));
  const upload = [
    '-m',
    'twine',
    'upload',
    '--repository-url',
    pythonUrl,
    '--username',
    'x',
    '--password',
    'x',
  ];
  await run(releasePython(), [...upload, '--disable-progress-bar', ...wheels]);
  // npm publishes only with a token. This registry accepts any token.
  const token = `--//${npmUrl.slice('http://'.length)}/:_authToken=x`;
  for (const packed of await filesIn(join(outDir, 'npm')))
    await run('npm', ['publish', packed, `--registry=${npmUrl}`, token, '--loglevel=error']);
}

const filesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder)).toSorted().map((name) => join(folder, name));
