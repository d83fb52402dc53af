import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Entry } from '../oci/tar.ts';
import { fileEntry } from './tree.ts';

const run = promisify(execFile);

/** Debian's busybox-static, which setup installs. */
const busybox = '/bin/busybox';

/** The smallest root in which commands run: busybox under all its names, and nobody's libraries. */
export async function busyboxRoot(): Promise<readonly Entry[]> {
  const { stdout } = await run(busybox, ['--list']);
  const applets = stdout.split('\n').filter((name) => name !== '' && name !== 'busybox');
  return [
    fileEntry(busybox, 'bin/busybox', true),
    ...applets.map((name): Entry => ({ kind: 'link', path: `bin/${name}`, to: 'busybox' })),
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    { kind: 'text', path: 'etc/passwd', mode: 0o644, text: accounts },
    { kind: 'text', path: 'etc/group', mode: 0o644, text: 'root:x:0:\nuser:x:1000:\n' },
  ];
}

const accounts = 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/workspace:/bin/sh\n';
