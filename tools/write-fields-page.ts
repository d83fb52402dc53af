import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fieldsPage } from './fields-page/page.ts';

// `node tools/write-fields-page.ts`: docs/environments/fields.md from what the fields mean. A test compares the two.
await writeFile(join(import.meta.dirname, '../docs/environments/fields.md'), fieldsPage());
