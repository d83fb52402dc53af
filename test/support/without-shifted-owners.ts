import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** The folder of an image again, at `at`, on a file system whose owners the kernel cannot shift. Unmounted when it is disposed of. */
export function withoutShiftedOwners(image: string, at: string): Disposable {
  const empty = `${at}-empty`;
  for (const each of [at, empty]) mkdirSync(each);
  execFileSync('mount', ['-t', 'overlay', '-o', `ro,lowerdir=${image}:${empty}`, 'corral-test', at]);
  return { [Symbol.dispose]: () => void execFileSync('umount', [at]) };
}
