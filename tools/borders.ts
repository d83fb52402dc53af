import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crossingsOf, describeCrossing } from './borders/crossings.ts';
import { rooms } from './borders/rooms.ts';

// `npm run check:borders`: every import of every source file against tools/borders/rooms.ts.

const root = join(import.meta.dirname, '..');
const sources = '{src,services,cli,demo,bench,loadtest,test,tools,infra}/**/*.ts';

const files = globSync(sources, { cwd: root }).sort();
const crossings = await Promise.all(
  files.map(async (file) => crossingsOf(file, await readFile(join(root, file), 'utf8'), rooms)),
);
const lines = crossings.flat().map(describeCrossing);
for (const line of lines) console.error(line);
if (lines.length > 0) console.error(`${lines.length} imports cross a border`);
process.exitCode = lines.length > 0 ? 1 : 0;
