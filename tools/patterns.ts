import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { backtracking } from './patterns/backtracking.ts';
import { patternsIn } from './patterns/find-patterns.ts';
import { known } from './patterns/known.ts';

/*
 * `npm run check:patterns`: no regular expression of a process that reads what strangers write may cost more than its text
 * is long. One that could, and whose text is bounded or our own, stands in tools/patterns/known.ts with the reason.
 */

const root = join(import.meta.dirname, '..');
const files = globSync('{src,services,cli}/**/*.ts', { cwd: root }).filter(
  (file) => !file.endsWith('.test.ts'),
);
const unused = new Set(known);
const complaints: string[] = [];
for (const file of files.sort()) {
  for (const { line, pattern, flags } of patternsIn(await readFile(join(root, file), 'utf8'))) {
    const why = pattern === null ? 'it is made while the program runs' : backtracking(pattern, flags);
    if (why === null) continue;
    const allowed = known.find((one) => one.file === file && one.pattern === pattern);
    if (allowed === undefined) complaints.push(`${file}:${line}: /${pattern ?? '…'}/: ${why}`);
    else unused.delete(allowed);
  }
}
for (const { file, pattern } of unused)
  complaints.push(`tools/patterns/known.ts: ${file} has no /${pattern ?? '…'}/`);
for (const line of complaints) console.error(line);
if (complaints.length > 0) {
  console.error(
    'write it as plain code, or so that it is linear for certain: tools/patterns/backtracking.ts says how',
  );
}
process.exitCode = complaints.length > 0 ? 1 : 0;
