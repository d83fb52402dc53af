import { createHash } from 'node:crypto';
import type { DependencyStore, Probed, ProbeResult } from '#src/ports/fleet/dependencies.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';

export function dependencyStore(run: RunScript): DependencyStore {
  const { ask } = scriptsOver(run);
  return {
    count: async (probed, rollout) => {
      await ask('count-dependent-call', { probe: nameOf(probed), key: rollout });
    },
    takeTurn: (probed) => ask('take-probe-turn', { probe: nameOf(probed), everyMs: probed.everyMs }),
    record: async (probed, beganAtMs, failed) => {
      const reason = failed?.slice(0, longestReason);
      await ask('record-probe', { probe: nameOf(probed), beganAtMs, failed: reason });
    },
    read: async (probed, rollout, sinceMs) => {
      const reply = await ask('read-probes', { probe: nameOf(probed), key: rollout, sinceMs });
      const { nowMs, goodAtMs = null, recoveredAtMs = null, ofRun, ofAll } = reply;
      const results = itemsOf(reply.results).map((one): ProbeResult => ({
        beganAtMs: one.beganAtMs,
        endedAtMs: one.endedAtMs,
        failed: one.failed ?? null,
      }));
      results.sort((one, other) => one.beganAtMs - other.beganAtMs);
      return { nowMs, results, goodAtMs, recoveredAtMs, load: { ofRun, ofAll } };
    },
  };
}

/** In characters: an hour of results stays below a megabyte. */
const longestReason = 120;

/** An address may be long, and is nobody's business who reads keys. */
const nameOf = ({ probe, everyMs }: Probed): string =>
  createHash('sha256').update(`${everyMs} ${probe}`).digest('hex').slice(0, 32);
