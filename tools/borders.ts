import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crossingsOf, describeCrossing } from './borders/crossings.ts';
import { fragmentsOf } from './borders/fragments.ts';
import { rooms } from './borders/rooms.ts';

// `npm run check:borders`: every import of every source file against tools/borders/rooms.ts, and no file cut too small.

const root = join(import.meta.dirname, '..');
const sources = '{src,services,cli,demo,bench,loadtest,test,tools,infra}/**/*.ts';

const files = globSync(sources, { cwd: root }).sort();
const texts = new Map(
  await Promise.all(files.map(async (file) => [file, await readFile(join(root, file), 'utf8')] as const)),
);
const crossings = [...texts].flatMap(([file, text]) => crossingsOf(file, text, rooms));
const fragments = fragmentsOf(texts);
for (const line of [...crossings.map(describeCrossing), ...fragments]) console.error(line);
if (crossings.length > 0) console.error(`${crossings.length} imports cross a border`);
process.exitCode = crossings.length + fragments.length > 0 ? 1 : 0;
