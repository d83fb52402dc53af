import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeptLog, keptFolder } from '#src/adapters/event-log/kept-log.ts';
import { callId, environmentName, rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { createFakeLog } from '../fakes/log.ts';

/** Outputs of the calls of one made rollout. */
export type MadeTexts = {
  readonly run: string;
  readonly rollout: string;
  readonly outputs: readonly string[];
};

/** A folder of call texts as a gateway writes it, for rollouts of made runs. */
export async function keepMadeTexts(all: readonly MadeTexts[]) {
  const folder = mkdtempSync(join(tmpdir(), 'corral-made-texts-'));
  const common = { folder, process: 'gateway', clock: systemClock, random: systemRandom };
  const kept = createKeptLog({ ...common, log: createFakeLog() });
  for (const { run, rollout, outputs } of all) {
    const owner = { tenant: tenantId('lab'), run: runId(run), rollout: rolloutId(rollout), attempt: 1 };
    for (const [at, text] of outputs.entries())
      kept.keepText({
        atMs: Date.now(),
        key: rolloutKey({ ...owner, role: 'policy' }),
        environment: environmentName('code-edit'),
        version: 'v',
        call: callId(`call_${at}`),
        tool: 'shell',
        arguments: null,
        output: { text, whole: text.length },
      });
  }
  await kept.flush();
  return { kept: keptFolder(folder), remove: () => rmSync(folder, { recursive: true }) };
}
