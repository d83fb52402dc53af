import { spawn } from 'node:child_process';
import type { Server } from 'node:net';
import { mirrorPort } from './plan.ts';

/**
 * A listener in the network of a sandbox, for this process. It is made by a program that enters that network, hands it over and
 * ends: nothing of the mirrors is a process of the sandbox, and no packet leaves its network.
 */
export function openDoor(pid: number, signal: AbortSignal): Promise<Server> {
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
    let door: Server | null = null;
    child.once('message', (_message, handle) => {
      door = handle as Server;
    });
    child.once('error', reject);
    // While it lives it would take connections too.
    child.once('close', (code) => {
      if (door !== null) resolve(door);
      else reject(new Error(`the mirrors of this sandbox could not be opened (${code}): ${words.trim()}`));
    });
  });
}

const longestWords = 500;

const program = `
const server = require('node:net').createServer();
server.listen(${mirrorPort}, '0.0.0.0', () => process.send('open', server, () => process.exit()));
`;
