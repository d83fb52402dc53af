import { posix } from 'node:path';
import { graderMountPoint, payloadMountPoint } from '#src/protocol/sandboxd/payload-layout.ts';
import type { Report } from '../mistakes.ts';
import type { SandboxYaml } from '../schema/sandbox.ts';

/** What every sandbox has in its own way, or what its programs come from: a folder of the policy's there would replace it. */
const taken = [
  ...'/workspace /tmp /proc /dev /sys /run /etc /bin /sbin /lib /lib32 /lib64 /usr /boot'.split(' '),
  payloadMountPoint,
  graderMountPoint,
];

/** Writable folders beside the workspace; none is no field, so that templates without are what they were. */
export function compileFolders(
  { folders = [], data = [] }: SandboxYaml,
  report: Report,
): { readonly folders?: readonly string[] } {
  for (const [index, folder] of folders.entries()) {
    const others = [...taken, ...data.map(({ target }) => target), ...folders.toSpliced(index, 1)];
    const other = others.find((each) => isWithin(folder, each) || isWithin(each, folder));
    if (isPlain(folder) && other === undefined) continue;
    report(
      ['sandbox', 'folders', index],
      other === undefined ? 'is no plain path: write it without //, . and ..' : `lies in or above ${other}`,
    );
  }
  return folders.length === 0 ? {} : { folders };
}

const isPlain = (folder: string) => posix.normalize(folder) === folder && !folder.endsWith('/');

const isWithin = (inner: string, outer: string) => inner === outer || inner.startsWith(`${outer}/`);
