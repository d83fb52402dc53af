import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { payloadNative } from '#src/protocol/sandboxd/payload-layout.ts';

/**
 * Whether the sockets of a sandbox can be limited on this host. Tried once: a kernel may lack it (Linux 5.9), and a machine that is
 * a container may already be asked for calls by another program. Needs root.
 */
export async function tryLimitSockets(payloadFolder: string): Promise<boolean> {
  const child = spawn(payloadNative(payloadFolder, 'limit-sockets'), ['1', '/bin/sh', '-c', ':'], {
    stdio: 'ignore',
  });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0;
  } catch {
    return false;
  }
}

/** What a socket may hold that no account has: 64 KiB. So all of them hold at most a quarter of the sandbox's memory. */
const memoryPerSocket = 256 * 1024;

/** A server with 200 connections from its own sandbox has 400, and more. */
const leastSockets = 512;

/** How many sockets a sandbox with so much memory may have. */
export const mostSockets = (memoryBytes: number): number =>
  Math.max(leastSockets, Math.floor(memoryBytes / memoryPerSocket));
