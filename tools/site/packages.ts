import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const own = import.meta.dirname;
const stamp = join(own, 'node_modules/.corral-setup');

/** They are not among the packages of the checkout: 106 MB that only the site needs. */
export function installPackages(): void {
  const wanted = readFileSync(join(own, 'package-lock.json'), 'utf8');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  console.error('docs: installing VitePress into tools/site/node_modules (106 MB)');
  const { status } = spawnSync('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'], {
    cwd: own,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error('npm ci failed (see above); try again with a reachable npm registry');
  writeFileSync(stamp, wanted);
}
