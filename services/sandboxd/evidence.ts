import { readFileSync } from 'node:fs';

/** Where a container sees its own cgroup: version 2, then version 1. */
const usualFiles = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];

/** Counts the kernel's kills for memory in this sandbox since it exists; null where no cgroup file can be read. */
export function readOutOfMemoryKills(cgroupEvents: string | null): number | null {
  for (const file of cgroupEvents === null ? usualFiles : [cgroupEvents]) {
    const count = parseOutOfMemoryKills(readOrEmpty(file));
    if (count !== null) return count;
  }
  return null;
}

/** Both cgroup versions write a line `oom_kill N`. */
export function parseOutOfMemoryKills(text: string): number | null {
  const count = /^oom_kill (\d+)$/m.exec(text)?.[1];
  return count === undefined ? null : Number(count);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
