import { NoSqlite, openEventIndex } from '#src/adapters/event-index/event-index.ts';
import { parseEvent } from '#src/adapters/event-log/event-lines.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { EventIndex } from '#src/ports/event-index.ts';
import type { Wanted } from '#src/protocol/fleet/events.ts';
import type { Missing } from '#src/reports/rollout-story.ts';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { followRun } from './follow-run.ts';
import { indexFileOf, type IndexPlace } from './index-file.ts';
import type { Making } from './making.ts';
import type { ToldLog } from './rollout-sources.ts';

type Indexing = {
  readonly client: HttpClient;
  readonly connection: Connection;
  readonly place: IndexPlace;
};

/**
 * All that is logged of a run, however much: read on from where the last command ended, and then told rollout by rollout.
 * Null: it is no run, or the gateway is too old. `whole` null: this Node has no index, and `missing` says so.
 */
export async function toldByIndex<Made>(
  { client, connection, place }: Indexing,
  { run, rollout, verdicts }: Wanted,
  making: () => Making<Made>,
): Promise<{ readonly whole: ToldLog<Made> | null; readonly missing: readonly Missing[] } | null> {
  if (run === null || rollout !== null) return null;
  const path = indexFileOf(connection, run, place, Date.now());
  const index = await opened(path);
  if (index instanceof NoSqlite) return { whole: null, missing: [newestOnly(index.message)] };
  try {
    const missing = await followRun(client, run, index);
    if (missing === null) return null;
    const made = making();
    const isWhole = addAll(index, made, verdicts === true);
    const left = isWhole ? missing : [...missing, tooMany(made)];
    return { whole: { told: made.made(), missing: left, hasWhy: true }, missing: left };
  } catch (thrown) {
    if (thrown instanceof CommandError) return null;
    throw thrown;
  } finally {
    index.close();
  }
}

async function opened(path: string | null): Promise<EventIndex | NoSqlite> {
  try {
    return await openEventIndex(path);
  } catch (thrown) {
    if (thrown instanceof NoSqlite) return thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new CommandError(
      `the index of this run cannot be opened: ${path}: ${reason}`,
      'this machine',
      "remove the file: the next command reads the fleet's logs again",
      thrown,
    );
  }
}

/** False: something had no room. */
function addAll<Made>(index: EventIndex, making: Making<Made>, verdicts: boolean): boolean {
  let isWhole = true;
  let last: RolloutKey | null = null;
  for (const line of index.lines()) {
    const event = parseEvent(line);
    if (event === null || (verdicts && event.kind !== 'verdict')) continue;
    if (last !== null && last !== event.key) making.finish?.(last);
    last = event.key;
    isWhole = making.add(event, line) && isWhole;
  }
  if (last !== null) making.finish?.(last);
  return isWhole;
}

const newestOnly = (why: string): Missing => ({
  keeper: 'this command',
  heardAtMs: null,
  told: 'some',
  why: `${why}; only the newest events were read`,
});

const tooMany = ({ most }: Pick<Making<unknown>, 'most'>): Missing => ({
  keeper: 'this command',
  heardAtMs: null,
  told: 'some',
  why: `the run has more than ${most}`,
});
