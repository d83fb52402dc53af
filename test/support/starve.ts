import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';

/**
 * From now on a process can open no further file, pipe or socket, as one that has leaked them; what is open stays open.
 * Returns how to end that.
 */
export function starveOfFiles(pid: number): () => void {
  const before = prlimit(pid, '--nofile', '--raw', '--noheadings', '--output', 'SOFT').trim();
  limit(pid, String(readdirSync(`/proc/${pid}/fd`).length));
  return () => limit(pid, before);
}

/** The soft limit; the hard one stays, so that it can be taken back. */
const limit = (pid: number, files: string) => void prlimit(pid, `--nofile=${files}:`);

/** As who it is on this machine: root has ids of its own in its sandbox, and who has the same may change its limits. */
const prlimit = (pid: number, ...options: readonly string[]) => {
  const { uid, gid } = statSync(`/proc/${pid}`);
  return execFileSync('prlimit', ['--pid', String(pid), ...options], {
    encoding: 'utf8',
    uid,
    gid,
    cwd: '/',
  });
};
