import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { timingsPage } from './timings-page/page.ts';

// `node tools/write-timings-page.ts`: docs/timings.md from the table of timings. A test compares the two.
await writeFile(join(import.meta.dirname, '../docs/timings.md'), timingsPage());
