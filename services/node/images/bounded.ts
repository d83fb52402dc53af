import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#src/ports/clock.ts';
import type { Room } from './room.ts';

export type Bounds = {
  readonly clock: Clock;
  readonly room: Room;
  /** How many bytes it has written. */
  readonly measure: () => Promise<number>;
  /** Layers that are here and belong to the image. */
  readonly own: ReadonlySet<number>;
  readonly image: string;
  /** What must come in a minute; 0: it may take its time. */
  readonly leastBytes: number;
  readonly signal: AbortSignal;
};

const lookEveryMs = 300;
const minuteMs = 60_000;
/** Of a registry, 2 Mbit/s: one that sends less would keep other images waiting for half an hour. */
export const leastOfRegistry = 15_000_000;

/** Runs what writes. Ends it when that would take more than there is room for, or when hardly anything comes any more. */
export async function bounded<Result>(
  { clock, room, measure, own, image, leastBytes, signal }: Bounds,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const ended = new AbortController();
  let trouble: unknown = null;
  let last = { bytes: 0, atMs: clock.monotonicMs() };
  const watch = async () => {
    while (!ended.signal.aborted) {
      await clock.sleep(lookEveryMs, ended.signal);
      const bytes = await measure();
      if (bytes < last.bytes || bytes - last.bytes >= leastBytes) last = { bytes, atMs: clock.monotonicMs() };
      if (clock.monotonicMs() - last.atMs > minuteMs)
        over.abort(`less than ${leastBytes} bytes came in a minute`);
      await room.make({ bytes, files: 0 }, image, own).catch((thrown: unknown) => {
        trouble ??= thrown;
        over.abort('there is no room for it');
      });
    }
  };
  const watching = watch();
  try {
    return await run(AbortSignal.any([signal, over.signal]));
  } catch (thrown) {
    throw trouble ?? thrown;
  } finally {
    ended.abort();
    await watching;
  }
}

const blockBytes = 512;

/** What a pull takes of the disk before it is unpacked: some hundred files. */
export async function diskBytes(folder: string): Promise<number> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return sizes.reduce((sum, each) => sum + (each?.blocks ?? 0) * blockBytes, 0);
}
