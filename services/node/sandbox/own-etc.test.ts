import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { planEtc, sandboxEtc, writeSandboxEtc } from './own-etc.ts';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'corral-etc-'))));
afterAll(() => rmSync(folder, { recursive: true }));

it('its files know localhost and its own name, and all may read them', () => {
  const own = join(folder, 'own');
  const umask = process.umask(0o077);
  writeSandboxEtc(own, sandboxEtc('s-1', { passwd: 'dev:x:1000:1000::/:/bin/sh\n' }));
  process.umask(umask);
  expect(readFileSync(join(own, 'hosts'), 'utf8')).toBe(
    '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.0.1 s-1\n',
  );
  expect(readFileSync(join(own, 'hostname'), 'utf8')).toBe('s-1\n');
  expect(['.', 'hosts', 'passwd'].map((name) => statSync(join(own, name)).mode & 0o777)).toEqual([
    0o755, 0o644, 0o644,
  ]);
});

const names = ['hosts', 'hostname'];
const bindable = { targets: ['/data'], canLayer: true };
const planFor = (path: string, options = bindable) => planEtc(names, { kind: 'rootfs', path }, options);

it('they are bound over the image’s files, and where there is nothing of its own', () => {
  const whole = join(folder, 'whole');
  mkdirSync(join(whole, 'etc'), { recursive: true });
  for (const name of names) writeFileSync(join(whole, 'etc', name), '');
  expect(planFor(whole)).toBe('bound');
  expect(planFor(join(folder, 'own'))).toBe('bound');
  expect(planEtc(names, { kind: 'host' }, bindable)).toBe('bound');
});

it('they are laid above an /etc that lacks one, or made anew with it where that cannot be', () => {
  const without = join(folder, 'without');
  mkdirSync(join(without, 'etc'), { recursive: true });
  symlinkSync('/dev/null', join(without, 'etc/hosts'));
  writeFileSync(join(without, 'etc/hostname'), '');
  expect(planFor(without)).toBe('layered');
  expect(planFor(without, { targets: [], canLayer: false })).toBe('anew');
  expect(planFor(without, { targets: ['/etc/ssl'], canLayer: true })).toBe('anew');
});

it('an /etc that is a link stays as it is', () => {
  const linked = join(folder, 'linked');
  mkdirSync(linked);
  symlinkSync('usr/etc', join(linked, 'etc'));
  expect(planFor(linked)).toBe('left');
});
