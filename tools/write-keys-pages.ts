import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { luaFiles } from '#src/adapters/redis/script-library.ts';
import { keysPage, readmePage } from './keys-page/page.ts';

// `node tools/write-keys-pages.ts`: the tables of KEYS.md from the table of keys, and the picture in src/README.md from the scripts.
const files = await luaFiles();
const keys = join(import.meta.dirname, '../src/adapters/redis/KEYS.md');
const readme = join(import.meta.dirname, '../src/README.md');
await writeFile(keys, keysPage(await readFile(keys, 'utf8'), files));
await writeFile(readme, readmePage(await readFile(readme, 'utf8'), files));
