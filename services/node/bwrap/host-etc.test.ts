import {
  globSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { copyHostEtc, linksToCopies } from './host-etc.ts';

let folder: string;
const etc = () => join(folder, 'etc');
const copies = () => join(folder, 'copies');
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'corral-etc-'))));
afterEach(() => rmSync(folder, { recursive: true }));

function copiesOf(...files: readonly string[]): readonly string[] {
  for (const file of files) {
    mkdirSync(dirname(join(etc(), file)), { recursive: true });
    writeFileSync(join(etc(), file), 'text');
  }
  copyHostEtc(copies(), etc());
  return globSync('**', { cwd: copies() })
    .filter((path) => !statSync(join(copies(), path)).isDirectory())
    .toSorted();
}

it('settings of programs are copied, of any version', () => {
  const files = [
    'java-17-openjdk/jvm.cfg',
    'php/8.2/cli/conf.d/10-pdo.ini',
    'python3.11/sitecustomize.py',
    'services',
  ];
  expect(copiesOf(...files)).toEqual(files.toSorted());
});

it('accounts, keys, names of the host and passwords by their names stay out', () => {
  const files = ['passwd', 'shadow', 'ssh/ssh_host_rsa_key', 'hosts', 'hostname', 'profile', 'environment'];
  const among = [
    'java-17/management/jmxremote.password',
    'maven/settings.xml',
    'perl/app.key',
    'php/8.2/fpm/pool.d/www.conf',
  ];
  expect(copiesOf(...files, ...among)).toEqual([]);
});

it('what others may not read stays out, and links stay links', () => {
  mkdirSync(join(etc(), 'fonts'), { recursive: true });
  symlinkSync('/usr/share/fontconfig/a.conf', join(etc(), 'fonts/a.conf'));
  writeFileSync(join(etc(), 'fonts/closed'), 'x');
  chmodSync(join(etc(), 'fonts/closed'), 0o640);
  copyHostEtc(copies(), etc());
  expect(globSync('fonts/*', { cwd: copies() })).toEqual(['fonts/a.conf']);
  expect(readlinkSync(join(copies(), 'fonts/a.conf'))).toBe('/usr/share/fontconfig/a.conf');
});

const linked = (...targets: readonly string[]) =>
  linksToCopies(copies(), targets).map((step) => (step.kind === 'link' ? [step.target, step.to] : step.kind));

it('there is a link for each name, but not where the template mounts something', () => {
  copiesOf('fonts/a', 'maven/m2.conf', 'services');
  expect(linked()).toEqual([
    'folder',
    ['/etc/fonts', '.host/fonts'],
    ['/etc/maven', '.host/maven'],
    ['/etc/services', '.host/services'],
  ]);
  expect(linked('/etc/maven/settings', '/etc/fonts')).toEqual([
    'folder',
    ['/etc/services', '.host/services'],
  ]);
  expect(linked('/etc')).toEqual([]);
});
