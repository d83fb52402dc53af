import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '#cli/fleet/free-port.ts';
import { defaultCacheDir } from '#infra/images/build.ts';
import { findPython } from '#infra/python/find-python.ts';
import { virtualEnvironment } from '#infra/python/virtual-environment.ts';
import { answers, run, type Started, startServer } from './processes.ts';

export type Registry = Started & { readonly url: string };

/** Debian's registry of images, over HTTP. `listen`: host and port; storage may be shared by several. */
export async function startImageRegistry(storage: string, listen: string): Promise<Registry> {
  await mkdir(storage, { recursive: true });
  const file = join(storage, `${listen.replace(':', '-')}.yml`);
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: storage } },
    http: { addr: listen },
  };
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ ...config, log: { level: 'error' } }));
  const url = `http://${listen}`;
  const started = await startServer(['docker-registry', 'serve', file], () => answers(`${url}/v2/`));
  return { ...started, url };
}

/** A Python package index. It accepts every upload, and redirects requests for other packages to PyPI. */
export async function startPythonIndex(folder: string): Promise<Registry> {
  await mkdir(folder, { recursive: true });
  const python = virtualEnvironment(findPython('3.11'), join(import.meta.dirname, '../pypiserver.txt'));
  const port = await freePort(0);
  const url = `http://127.0.0.1:${port}`;
  const how = ['--interface', '127.0.0.1', '--port', String(port), '--passwords', '.', '--authenticate', '.'];
  const argv = [python, '-m', 'pypiserver', 'run', ...how, folder];
  return { ...(await startServer(argv, () => answers(`${url}/simple/`))), url };
}

/** An npm registry. It proxies other packages from npm's own registry. */
export async function startNpmRegistry(folder: string): Promise<Registry> {
  await mkdir(folder, { recursive: true });
  const port = await freePort(0);
  const url = `http://127.0.0.1:${port}`;
  const { stdout } = await run('npm', ['config', 'get', 'registry']);
  const open = { access: '$all', publish: '$all', unpublish: '$all' };
  const config = {
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd') } },
    uplinks: { npm: { url: stdout.trim(), maxage: '60m', cache: true } },
    // The two packages of this release are never proxied, because npm may have other packages of these names.
    packages: { 'corral-cli': open, 'corral-client': open, '**': { ...open, proxy: 'npm' } },
    listen: `127.0.0.1:${port}`,
    max_body_size: '50mb',
    log: { type: 'stdout', level: 'error' },
  };
  const file = join(folder, 'verdaccio.yaml');
  await writeFile(file, JSON.stringify(config));
  const argv = [process.execPath, await verdaccio(), '--config', file];
  return { ...(await startServer(argv, () => answers(`${url}/-/ping`))), url };
}

/** `node-fetch` is overridden, because parts of verdaccio ask for versions that conflict. */
const wanted = {
  private: true,
  dependencies: { verdaccio: '6.8.0' },
  overrides: { 'node-fetch': '2.7.0' },
};

async function verdaccio(): Promise<string> {
  const folder = join(defaultCacheDir(), `verdaccio-${wanted.dependencies.verdaccio}`);
  const program = join(folder, 'node_modules/verdaccio/bin/verdaccio');
  if (existsSync(program)) return program;
  await mkdir(defaultCacheDir(), { recursive: true });
  const making = await mkdtemp(join(defaultCacheDir(), '.verdaccio-'));
  await writeFile(join(making, 'package.json'), JSON.stringify(wanted));
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'], {
    cwd: making,
  });
  await rename(making, folder).catch(() => rm(making, { recursive: true }));
  return program;
}
