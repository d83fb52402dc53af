import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { schemaFiles } from './schemas/schema-files.ts';

// `node tools/write-schemas.ts`: the JSON Schemas of environments, policies and cluster files, for editors. A test compares.
const folder = join(import.meta.dirname, '../schemas');
await mkdir(folder, { recursive: true });
for (const [name, content] of schemaFiles()) await writeFile(join(folder, name), content);
