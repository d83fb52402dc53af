import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { missingPrograms, neededPrograms } from './needed-programs.ts';

test('a program counts as installed if a folder of the path has it and it may run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'corral-programs-'));
  try {
    for (const name of ['redis-server', 'setpriv', 'bwrap']) writeFileSync(join(folder, name), '');
    for (const name of ['redis-server', 'setpriv']) chmodSync(join(folder, name), 0o755);
    const missing = missingPrograms(neededPrograms('local'), `/nothing:${folder}`);
    expect(missing.map((one) => one.package)).toEqual(['bubblewrap', 'libc-bin']);
    expect(missingPrograms(neededPrograms('kubernetes'), folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
