import { type SendHandle, spawn } from 'node:child_process';
import { mirrorPort } from './plan.ts';

/** A listener in the network of a sandbox. Node only holds it, so that it outlives a proxy that dies, and accepts nothing itself. */
export type Door = { readonly handle: SendHandle; close(): void };

/**
 * A program that enters the network makes it, hands it over and ends: nothing of the mirrors is a process of the sandbox, and no packet
 * leaves its network.
 */
export function openDoor(pid: number, signal: AbortSignal): Promise<Door> {
  const enter = ['--net', '--target', String(pid), '--', process.execPath, '-e', program];
  const child = spawn('nsenter', enter, {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { PATH: process.env['PATH'] },
    signal,
  });
  let words = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (words.length < longestWords) words += chunk.toString('utf8');
  });
  return new Promise((resolve, reject) => {
    let handle: SendHandle;
    child.once('message', (_message, sent) => {
      handle = sent;
    });
    child.once('error', reject);
    // While it lives it would take connections too.
    child.once('close', (code) => {
      if (handle !== undefined) resolve(doorOf(handle));
      else reject(new Error(`the mirrors of this sandbox could not be opened (${code}): ${words.trim()}`));
    });
  });
}

const doorOf = (handle: SendHandle): Door => ({
  handle,
  close: () => {
    if (handle !== undefined && 'close' in handle) handle.close();
  },
});

const longestWords = 500;

/**
 * The settings bound what the kernel keeps for each connection of this network: a reader that does not read must not fill the machine's
 * memory. A listener of the kernel's, and not a server of Node's, is handed over: a server would accept connections in node.
 */
const program = `
for (const name of ['tcp_rmem', 'tcp_wmem'])
  try { require('node:fs').writeFileSync('/proc/sys/net/ipv4/' + name, '4096 16384 262144'); } catch {}
const server = require('node:net').createServer();
server.listen(${mirrorPort}, '0.0.0.0', () => process.send('open', server._handle, () => process.exit()));
`;
