import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { everyDefect } from './defects.ts';
import { copyDependencies, sealed, sealOf, versionFolder } from './packages.ts';
import { nameOf } from './toolbox/unpack.ts';

/* Builds what a policy's sandbox has: the sealed packages before their fixes, what they depend on, the tools, and this Node. */

const data = process.env['CORRAL_DATA'] ?? '';
mkdirSync(join(data, 'packages'));
for (const defect of everyDefect) {
  const { status, stdout, stderr } = spawnSync(
    'tar',
    [
      '-c',
      '--sort=name',
      '--owner=0',
      '--group=0',
      '--mtime=@0',
      '-C',
      versionFolder(defect, defect.from),
      '.',
    ],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  if (status !== 0) throw new Error(stderr.toString());
  writeFileSync(join(data, 'packages', nameOf(sealOf(defect.id))), sealed(defect.id, stdout));
}
copyDependencies(join(data, 'node_modules'));
cpSync(join(import.meta.dirname, 'toolbox'), join(data, 'toolbox'), { recursive: true });
copyFileSync(process.execPath, join(data, 'node'));
process.stdout.write(`${everyDefect.length} packages\n`);
