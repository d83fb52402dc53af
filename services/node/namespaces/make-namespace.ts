import { spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';

/** Ids of a sandbox, from 0 on: as many as containers have, so that 65534 (nobody) is one of them. */
export const idsInRange = 65_536;

/** It takes some milliseconds; whoever takes so long hangs. */
const makingMs = 10_000;

/**
 * First it is in its namespace, then it waits until its ids are mapped, then it forbids namespaces inside: neither
 * sandboxd nor a command has any use for one. That write needs the capabilities which `--keep-caps` leaves.
 */
const makerScript = 'echo; read _; echo 0 > /proc/sys/user/max_user_namespaces && echo';

const maker = ['unshare', '--user', '--keep-caps', '--', 'sh', '-c', makerScript] as const;

/** How to become `base` and make it: as anybody may, or with the right to, where this host lets not everybody. */
const ways = [
  (): readonly string[] => maker,
  (base: number): readonly string[] => {
    const becoming = ['--reuid', String(base), '--regid', String(base), '--clear-groups'];
    const right = ['--inh-caps', '+sys_admin', '--ambient-caps', '+sys_admin'];
    return ['setpriv', ...becoming, ...right, '--', ...maker];
  },
];

/**
 * A user namespace in which the ids 0 to 65,535 are `base` and those after it on this host. The open descriptor is the
 * namespace: no process stays, nothing is on disk, and it is gone when nobody holds or uses it.
 *
 * It is made under the id `base`, not as root: who makes a namespace pays for what is used in it, so the kernel's
 * limits of a user (inotify, pipes) are then counted for each sandbox apart. Rejects where the host forbids it.
 */
export async function makeNamespace(base: number): Promise<number> {
  const refusals: string[] = [];
  for (const [index, way] of ways.entries()) {
    try {
      return await makeBy(way(base), index === 0 ? { uid: base, gid: base } : {}, base);
    } catch (thrown) {
      refusals.push(thrown instanceof Error ? thrown.message : String(thrown));
    }
  }
  throw new Error(`no user namespace can be made: ${refusals.join('; with the right to: ')}`);
}

async function makeBy(
  [program = '', ...args]: readonly string[],
  user: Pick<SpawnOptions, 'uid' | 'gid'>,
  base: number,
): Promise<number> {
  const env = { PATH: process.env['PATH'] };
  const child = spawn(program, args, { ...user, env, stdio: ['pipe', 'pipe', 'pipe'], timeout: makingMs });
  const ended = once(child, 'close');
  const words = wordsOf(child.stderr);
  child.stdin.on('error', () => undefined);
  let namespace: number | null = null;
  try {
    await saysLine(child.stdout, ended);
    const map = `0 ${base} ${idsInRange}\n`;
    for (const file of ['uid_map', 'gid_map']) writeFileSync(`/proc/${child.pid}/${file}`, map);
    namespace = openSync(`/proc/${child.pid}/ns/user`, 'r');
    await goOn(child.stdin, child.stdout, ended);
    return namespace;
  } catch (thrown) {
    child.kill('SIGKILL');
    if (namespace !== null) closeSync(namespace);
    throw new Error(words() || (thrown instanceof Error ? thrown.message : String(thrown)), {
      cause: thrown,
    });
  }
}

/** Rejects when it ends without a word. */
async function saysLine(stdout: Readable, ended: Promise<unknown>): Promise<void> {
  const silent = ended.then(() => Promise.reject(new Error('the maker ended too early')));
  await Promise.race([once(stdout, 'data'), silent]);
}

async function goOn(stdin: Writable, stdout: Readable, ended: Promise<unknown>): Promise<void> {
  const said = saysLine(stdout, ended);
  stdin.end('\n');
  await said;
  await ended;
}

function wordsOf(stderr: Readable): () => string {
  let text = '';
  stderr.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-longestWords);
  });
  return () => text.trim();
}

/** A sentence of unshare's or the shell's. */
const longestWords = 500;
