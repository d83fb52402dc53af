import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** `O_CLOEXEC`, the same on both architectures that we run on. */
const closesOnExec = 0o2000000;

/**
 * Closes what this process was left open by who started it: a pipe of a launcher's, a folder. Node's `spawn` closes
 * nothing for its children, so all of it would reach every sandbox. All that is open with it is Node's own, which marks
 * what it opens; the call comes before anything else is opened all the same. Descriptors 0 to 2 are ours to have.
 */
export function closeInheritedDescriptors(): void {
  for (const descriptor of readdirSync('/proc/self/fd').map(Number)) {
    if (descriptor > 2 && isInherited(descriptor)) closeSync(descriptor);
  }
}

function isInherited(descriptor: number): boolean {
  const flags = /^flags:\t(\d+)/m.exec(infoOf(descriptor))?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & closesOnExec) === 0;
}

function infoOf(descriptor: number): string {
  try {
    return readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
  } catch {
    // The one with which the list was read.
    return '';
  }
}
