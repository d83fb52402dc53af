import { write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { BatchWriter } from './gather.ts';

const standardOutput = 1;
const writeTo = promisify(write);
/** A pipe whose reader is behind: nobody is in a hurry, and what waits is bounded. */
const fullPauseMs = 20;

/**
 * Writes to standard output, where a cluster's log collectors look. Not by `process.stdout`, which stands still with all
 * of this process when nobody reads a pipe; so only the batch waits.
 */
export function createStdoutWriter(): BatchWriter {
  return {
    place: 'standard output',
    write: async (text) => {
      let rest = Buffer.from(text);
      while (rest.length > 0) rest = rest.subarray(await writeSome(rest));
    },
  };
}

async function writeSome(bytes: Buffer): Promise<number> {
  try {
    return (await writeTo(standardOutput, bytes)).bytesWritten;
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EAGAIN')) throw thrown;
    await sleep(fullPauseMs);
    return 0;
  }
}
