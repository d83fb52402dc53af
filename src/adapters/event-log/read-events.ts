import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { FleetEvent } from '../../ports/event-log.ts';
import type { RolloutKey } from '../../model/rollout.ts';
import { dayOf, parseFileName } from './files.ts';

export type EventFilter = { readonly key?: RolloutKey; readonly sinceMs?: number };

/**
 * The events of a folder, file by file in the order of their days; several writers of one day follow one another. A
 * line that a crash cut off is skipped.
 */
export async function* readEvents(folder: string, filter: EventFilter): AsyncGenerator<FleetEvent> {
  for (const name of await filesSince(folder, filter.sinceMs ?? 0)) {
    const lines = createInterface({ input: createReadStream(join(folder, name)), crlfDelay: Infinity });
    for await (const line of lines) {
      const event = parseEvent(line);
      if (event !== null && matches(event, filter)) yield event;
    }
  }
}

async function filesSince(folder: string, sinceMs: number): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  const firstDay = dayOf(sinceMs);
  return names.filter((name) => (parseFileName(name)?.day ?? '') >= firstDay).sort();
}

function parseEvent(line: string): FleetEvent | null {
  try {
    // Written by this adapter alone, so its shape is not checked again; what is half a line is no JSON.
    return JSON.parse(line) as FleetEvent;
  } catch {
    return null;
  }
}

function matches(event: FleetEvent, { key, sinceMs }: EventFilter): boolean {
  return (key === undefined || event.key === key) && (sinceMs === undefined || event.atMs >= sinceMs);
}
