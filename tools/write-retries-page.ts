import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { retriesPage } from './retries-page/page.ts';

// `node tools/write-retries-page.ts`: docs/retries.md from the table of retries. A test compares the two.
await writeFile(join(import.meta.dirname, '../docs/retries.md'), retriesPage());
