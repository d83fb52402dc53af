import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { dataFolder, unpackInto } from './unpack.ts';

/* Setup: unpacks the row's package into the workspace, and links what it depends on. */

mkdirSync('package');
unpackInto('package', process.argv[2] ?? '');
symlinkSync(join(dataFolder, 'node_modules'), 'node_modules');
