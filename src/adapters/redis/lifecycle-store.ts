import { createHash } from 'node:crypto';
import { brokenBy } from '#src/failure/codes.ts';
import type { LifecycleStore, LossEffect } from '#src/ports/fleet/lifecycle.ts';
import { evidenceText, recordOf, recordOrNull } from './record.ts';
import { listOf, numberOf, textOf, type Reply, type RunScript } from './script-runner.ts';
import { runName, runOf } from './keys.ts';

export function lifecycleStore(run: RunScript): LifecycleStore {
  return {
    // Asked here and not by callers: eight of them say that a sandbox is gone, and one that forgot it would taint, as ours, what a
    // policy broke. The table itself is no adapter's.
    lose: async (sandbox, boot, cause, evidence) => {
      const broken = brokenBy(cause, evidence) ?? '';
      return lossOf(await run('lose', sandbox, boot ?? '', cause, evidenceText(evidence), broken));
    },
    close: async (key, by) => recordOrNull(await run('close', key, by)),
    refuse: async (key, unmet) => recordOrNull(await run('refuse', key, evidenceText(unmet))),
    showsAgain: async (template, what, sandbox) => {
      const digest = createHash('sha256').update(what).digest('hex').slice(0, 32);
      return (await run('shows-again', template, digest, sandbox)) === 1;
    },
    heartbeat: async (key) => recordOrNull(await run('heartbeat', key)),
    expireDue: async (limit) => listOf(await run('expire-due', limit)).map(recordOf),
    takeBackGrants: async (afterMs) => numberOf(await run('take-back-grants', afterMs)),
    heartbeatRun: async (tenant, ofRun) => (await run('renew-run', runName(tenant, ofRun))) === 1,
    closeRun: async (tenant, ofRun, limit) => numberOf(await run('close-run', runName(tenant, ofRun), limit)),
    lapsedRuns: async (limit) => listOf(await run('lapsed-runs', limit)).map((name) => runOf(textOf(name))),
    releaseLapsed: async (tenant, ofRun, limit) =>
      numberOf(await run('release-lapsed', runName(tenant, ofRun), limit)),
    keepContact: async (silentMs) => numberOf(await run('keep-contact', Math.round(silentMs))),
  };
}

function lossOf(reply: Reply): LossEffect {
  const [kind, record] = listOf(reply);
  if (kind === 'swapped' || kind === 'tainted' || kind === 'broken')
    return { kind, rollout: recordOf(record) };
  return { kind: 'none' };
}
