import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { typescriptPage } from './client-pages/page.ts';

// `node tools/write-typescript-page.ts`: docs/clients/typescript-api.md from what the client exports. A test compares the two.
await writeFile(join(import.meta.dirname, '../docs/clients/typescript-api.md'), typescriptPage());
