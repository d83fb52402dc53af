import type { EventKeeper, EventKeepers, HeardKeeper } from '#src/ports/fleet/event-keepers.ts';
import { listOf, numberOf, textOf, type Reply } from './reply.ts';
import type { RunScript } from './script-runner.ts';

/** Whoever looks for the story of a night's rollout does so on the next day. */
const keptMs = 24 * 60 * 60_000;
/** Ten rolling updates a day of fifty processes. */
const mostLogs = 500;

export function eventKeeperStore(run: RunScript): EventKeepers {
  return {
    tell: async (log, keeper) => {
      await run('tell-event-log', log, JSON.stringify(keeper), keptMs, mostLogs);
    },
    all: async () => listOf(await run('list-event-logs')).map(keeperOf),
  };
}

function keeperOf(reply: Reply): HeardKeeper {
  const [log, silentMs, word] = listOf(reply);
  // Written by this adapter alone.
  const keeper = JSON.parse(textOf(word)) as EventKeeper;
  return { ...keeper, log: textOf(log), silentMs: numberOf(silentMs) };
}
