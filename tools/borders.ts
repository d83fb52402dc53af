import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crossingsOf, describeCrossing } from './borders/crossings.ts';
import { cycleIn } from './borders/cycles.ts';
import { fragmentsOf } from './borders/fragments.ts';
import { rooms } from './borders/rooms.ts';

// `npm run check:borders`: every import of every source file against tools/borders/rooms.ts, no cycle of imports, and no
// file cut too small.

const root = join(import.meta.dirname, '..');
const sources = '{src,services,cli,console,demo,bench,loadtest,test,tools,infra}/**/*.{ts,tsx}';

const files = globSync(sources, { cwd: root, exclude: ['**/node_modules/**'] }).sort();
const texts = new Map(
  await Promise.all(files.map(async (file) => [file, await readFile(join(root, file), 'utf8')] as const)),
);
const crossings = [...texts].flatMap(([file, text]) => crossingsOf(file, text, rooms));
const cycle = cycleIn(texts);
const faults = [
  ...crossings.map(describeCrossing),
  ...fragmentsOf(texts),
  ...(cycle === null ? [] : [cycle]),
];
for (const line of faults) console.error(line);
if (crossings.length > 0) console.error(`${crossings.length} imports cross a border`);
process.exitCode = faults.length > 0 ? 1 : 0;
