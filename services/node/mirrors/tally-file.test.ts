import { closeSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nothingAsked, parseMirrorTally } from '#src/protocol/sandboxd/mirror-tally.ts';
import { createTallyFile, writeTally } from './tally-file.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-tally-'));
  file = join(folder, 'mirrors.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = () => parseMirrorTally(readFileSync(file, 'utf8'));
const inUse = {
  ...nothingAsked,
  undecided: 1,
  policy: { ...nothingAsked.policy, asked: 5, open: 2, underWay: 1 },
};

test('a loss counts the connections that were open, and leaves nothing under way', () => {
  const tally = createTallyFile(file);
  writeTally(tally.descriptor, inUse, 7);
  expect(tally.addLoss()).toMatchObject({
    undecided: 0,
    policy: { asked: 5, lost: 2, open: 0, underWay: 0 },
  });
  expect(read()).toMatchObject({ policy: { lost: 2 }, grader: { lost: 0 } });
  tally.close();
});

test('a tally that cannot be read is removed, so that no call finds an old one', () => {
  const tally = createTallyFile(file);
  truncateSync(file, 100);
  expect(tally.addLoss()).toBeNull();
  expect(existsSync(file)).toBe(false);
  tally.close();
});

test('a tally that cannot be written is removed', () => {
  const tally = createTallyFile(file);
  closeSync(tally.descriptor);
  expect(tally.addLoss()).toBeNull();
  expect(existsSync(file)).toBe(false);
});

test('a link in its place is not followed', () => {
  symlinkSync('/etc/hostname', file);
  expect(() => createTallyFile(file)).toThrow(/EEXIST/);
});

test('a text of two writes is recognized', () => {
  const tally = createTallyFile(file);
  writeTally(tally.descriptor, inUse, 8);
  const text = readFileSync(file, 'utf8');
  expect(() => parseMirrorTally(text.replace('[8,', '[9,'))).toThrow(/not whole/);
  tally.close();
});
