import type { KeptCall, KeptLine } from '#src/adapters/event-log/kept-log.ts';
import { ownerOf } from '#src/model/rollout.ts';
import { CommandError } from '../command-error.ts';
import { type KeptOptions, keptOf, openKept } from '../stories/kept-source.ts';
import type { OfRun } from '../stories/one-tenant.ts';
import type { RunRead } from './read-run.ts';
import { itemName, type StudiedCall, type StudiedRollout } from './rollout.ts';

/** As many as of an event log: a rollout of a hundred calls is some 50 KB. */
const mostRollouts = 50_000;

/** What only the event log has. The report says it, so that no share of discards is read from a source without any. */
const leftOut =
  'kept rollouts are graded ones: discarded and ungraded rollouts, voided ones and the grader’s parts are not known';

/** A run whose event log is gone, from its kept rollouts. */
export async function readKeptRun(options: KeptOptions, ofRun: OfRun, environment: string): Promise<RunRead> {
  const source = openKept(options, process.env);
  const missing = new Set([`${source.place}: ${leftOut}`]);
  const rollouts: StudiedRollout[] = [];
  const unreadable = (name: string, why: string) => void missing.add(`${name}: ${why}`);
  for await (const kept of keptOf(ofRun, source, unreadable, (one) => one.environment === environment)) {
    if (rollouts.length < mostRollouts) rollouts.push(rolloutOf(kept));
    else missing.add(`${source.place}: it has more than ${mostRollouts} rollouts`);
  }
  if (rollouts.length === 0) throw notThere(ofRun.run, environment, source.place);
  return {
    subject: { name: ofRun.run, what: 'run', rollouts: rollouts.toSorted((a, b) => (a.id < b.id ? -1 : 1)) },
    missing: [...missing],
  };
}

function rolloutOf({ key, item, score, rollout: { calls } }: KeptLine): StudiedRollout {
  const { rollout, attempt } = ownerOf(key);
  return {
    id: attempt === 1 ? rollout : `${rollout} (attempt ${attempt})`,
    item: item === null ? null : itemName(item),
    calls: calls.map(callOf),
    tookMs: null,
    parts: [],
    writtenTokens: null,
    ended: { kind: 'scored', score },
  };
}

const callOf = (call: KeptCall): StudiedCall => ({
  tool: call.tool,
  arguments: call.arguments_text ?? JSON.stringify(call.arguments),
  outputBytes: call.output_bytes,
  outputTokens: null,
  tookMs: call.duration_ms === null ? null : call.duration_ms + call.waited_ms,
});

const notThere = (run: string, environment: string, place: string) =>
  new CommandError(
    `no rollout of ${environment} of the run ${run} is kept in ${place}`,
    'yours',
    'check both names and the place; only environments with keep: graded or all keep their rollouts',
  );
