import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepNewest } from './keep-newest.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'corral-keep-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, changedS: number): void {
  writeFileSync(join(folder, name), name);
  utimesSync(join(folder, name), changedS, changedS);
}

test('only the newest are kept, each with all that belongs to it, and what is named otherwise stays', async () => {
  for (const [age, hash] of ['old', 'middle', 'new'].entries()) {
    file(`image-bare-${hash}.tar`, 100 * age);
    file(`image-bare-${hash}.tar.json`, 100 * age + 1);
  }
  file('image-bare-old.tar.4711', 2);
  file('image-demo-old.tar', 0);
  await keepNewest(folder, 'image-bare-', 2);
  expect(readdirSync(folder).toSorted()).toEqual([
    'image-bare-middle.tar',
    'image-bare-middle.tar.json',
    'image-bare-new.tar',
    'image-bare-new.tar.json',
    'image-demo-old.tar',
  ]);
});

test('folders go with all that is in them', async () => {
  for (const [age, name] of ['payload-old', 'payload-new'].entries()) {
    mkdirSync(join(folder, name, 'lib'), { recursive: true });
    utimesSync(join(folder, name), age, age);
  }
  await keepNewest(folder, 'payload-', 1);
  expect(readdirSync(folder)).toEqual(['payload-new']);
});
