import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pythonPage } from './client-pages/page.ts';

// `node tools/write-python-page.ts`: docs/clients/python-api.md from what the client exports. A test compares the two.
await writeFile(join(import.meta.dirname, '../docs/clients/python-api.md'), pythonPage());
