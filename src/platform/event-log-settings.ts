import type { ConfigReader } from './config.ts';

/** Where events go. */
export type EventLogSettings = {
  /** Null: to no folder. */
  readonly folder: string | null;
  readonly stdout: boolean;
  /** Of all files in the folder. */
  readonly maxBytes: number;
};

const mebibyte = 1024 * 1024;

/** The same variables for every process that tells events. */
export function readEventLogSettings(read: ConfigReader): EventLogSettings {
  const to = read.choice('CORRAL_EVENT_LOG_TO', ['folder', 'stdout', 'folder,stdout'], {
    fallback: 'folder',
  });
  const folder = read.optional('CORRAL_EVENT_LOG_DIR');
  if (to !== 'stdout' && folder === null) {
    read.mistake(
      'CORRAL_EVENT_LOG_DIR is not set: the folder of the event log; or set CORRAL_EVENT_LOG_TO=stdout',
    );
  }
  return {
    folder: to === 'stdout' ? null : folder,
    stdout: to !== 'folder',
    maxBytes: read.whole('CORRAL_EVENT_LOG_MAX_BYTES', {
      purpose: "bytes of the event log's files",
      // Some 2 KB an event: two million, and less than the disk of any pod.
      fallback: 4 * 1024 * mebibyte,
      // Below it a single file would hardly be worth its name.
      min: 64 * mebibyte,
      max: Number.MAX_SAFE_INTEGER,
    }),
  };
}
