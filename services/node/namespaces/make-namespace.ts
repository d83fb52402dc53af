import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';

/** Ids of a sandbox, from 0 on: as many as containers have, so that 65534 (nobody) is one of them. */
export const idsInRange = 65_536;

/** It takes some milliseconds; whoever takes so long hangs. */
const makingMs = 10_000;

/**
 * First it is in its namespace, then it waits until its ids are mapped, then it forbids namespaces inside: neither
 * sandboxd nor a command has any use for one. That write needs the capabilities which `--keep-caps` leaves.
 */
const makerScript = 'echo; read _; echo 0 > /proc/sys/user/max_user_namespaces; echo';

/**
 * A user namespace in which the ids 0 to 65,535 are `base` and those after it on this host. The open descriptor is the
 * namespace: no process stays, nothing is on disk, and it is gone when nobody holds or uses it.
 *
 * It is made under the id `base`, not as root: who makes a namespace pays for what is used in it, so the kernel's
 * limits of a user (inotify, pipes) are then counted for each sandbox apart. Rejects where the host forbids it.
 */
export async function makeNamespace(base: number): Promise<number> {
  const maker = spawn('unshare', ['--user', '--keep-caps', '--', 'sh', '-c', makerScript], {
    uid: base,
    gid: base,
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: makingMs,
  });
  const ended = once(maker, 'close');
  const words = wordsOf(maker.stderr);
  maker.stdin.on('error', () => undefined);
  try {
    await saysLine(maker.stdout, ended);
    const map = `0 ${base} ${idsInRange}\n`;
    for (const file of ['uid_map', 'gid_map']) writeFileSync(`/proc/${maker.pid}/${file}`, map);
    const namespace = openSync(`/proc/${maker.pid}/ns/user`, 'r');
    await goOn(maker.stdin, maker.stdout, ended);
    return namespace;
  } catch (thrown) {
    maker.kill('SIGKILL');
    throw new Error(`no user namespace can be made: ${words() || messageOf(thrown)}`, { cause: thrown });
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

const messageOf = (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown));
