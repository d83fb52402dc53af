import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { programsLeadingTo } from './leading-to.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-leading-'));
  for (const folder of ['bin', 'task/bin', 'task2']) mkdirSync(join(root, folder), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string) => {
  writeFileSync(join(root, 'bin', name), text);
  chmodSync(join(root, 'bin', name), 0o755);
};

test('programs of a PATH lead to folders by a link, by a link to such a link, or by an interpreter', () => {
  symlinkSync('/task/bin/tool', join(root, 'bin/a-link'));
  symlinkSync('a-link', join(root, 'bin/b-link-to-it'));
  write('c-script', '#! /task/bin/python -u\nprint(1)\n');
  write('d-script-by-link', '#!/bin/a-link\n');
  symlinkSync('/task2', join(root, 'bin/other'));
  write('program', '\u007fELF');
  write('script', '#!/bin/sh\n/task/bin/tool\n');
  const found = programsLeadingTo({ root, folders: ['/task'] }, '/nowhere:/bin');
  expect(found.toSorted()).toEqual([
    '/bin/a-link',
    '/bin/b-link-to-it',
    '/bin/c-script',
    '/bin/d-script-by-link',
  ]);
});
