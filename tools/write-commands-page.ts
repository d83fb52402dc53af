import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commandsPage } from './commands-page/page.ts';

// `node tools/write-commands-page.ts`: docs/commands.md from the help of the commands. A test compares the two.
await writeFile(join(import.meta.dirname, '../docs/commands.md'), commandsPage());
