import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** `O_CLOEXEC`, the same on both architectures that we run on. */
const closesOnExec = 0o2000000;

/**
 * Closes what whoever made this sandbox left open: a command would have it too, as `spawn` closes nothing for its
 * children. What Node opens itself is marked to close by itself. Descriptors 0 to 2 are ours to have.
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
