import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createViews } from './views.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-views-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** A program in place of the one that begins the helper. */
function play(script: string): void {
  const program = join(folder, 'unshare');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  vi.stubEnv('PATH', `${folder}:${process.env['PATH'] ?? ''}`);
}

const couldNot = 'the layers of an image could not be mounted';

it('a helper that cannot start fails one image, and not node', async () => {
  vi.stubEnv('PATH', join(folder, 'nothing'));
  const views = createViews(folder);
  await expect(views.open('a', ['x', 'y'])).rejects.toThrow(couldNot);
  vi.unstubAllEnvs();
  play('while read -r words; do echo yes; done');
  await expect(views.open('a', ['x', 'y'])).resolves.toContain('/views/a');
  await views.stop();
});

it('a helper that ends while what it began still runs delays no other image, and another one begins', async () => {
  const held = join(folder, 'held');
  execFileSync('mkfifo', [held]);
  play(`read -r words; cat ${held} & exit 1`);
  const views = createViews(folder);
  await expect(views.open('a', ['x', 'y'])).rejects.toThrow(couldNot);
  writeFileSync(held, '');
  play('while read -r words; do echo yes; done');
  await expect(views.open('a', ['x', 'y'])).resolves.toContain('/views/a');
  await views.stop();
});

it('opens nothing after it was stopped', async () => {
  play('while read -r words; do echo yes; done');
  const views = createViews(folder);
  await views.open('a', ['x', 'y']);
  await views.stop();
  await expect(views.open('b', ['x', 'y'])).rejects.toThrow('stopping');
});
