import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failuresPage } from './failures-page/page.ts';

// `node tools/write-failures-page.ts`: docs/failures.md from src/failure/. A test compares the two.
await writeFile(join(import.meta.dirname, '../docs/failures.md'), failuresPage());
