import { createHash } from 'node:crypto';
import { brokenBy } from '#src/failure/codes.ts';
import { restsOnSandbox } from '#src/failure/witness.ts';
import type { LifecycleStore } from '#src/ports/fleet/lifecycle.ts';
import { evidenceText, recordOf, recordOrNull } from './record.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';
import { runName, runOf } from './keys.ts';

export function lifecycleStore(run: RunScript): LifecycleStore {
  const { ask } = scriptsOver(run);
  return {
    // Asked here and not by callers: eight of them say that a sandbox is gone, and one that forgot it would taint, as ours, what a
    // policy broke. The table itself is no adapter's.
    lose: async (sandbox, boot, cause, evidence) => {
      const brokenReason = brokenBy(cause, evidence) ?? undefined;
      const asked = {
        sandbox,
        boot: boot ?? undefined,
        cause,
        evidence: evidenceText(evidence),
        bySandbox: restsOnSandbox(cause, evidence),
        brokenReason,
      };
      const reply = await ask('lose', asked);
      return reply.kind === 'none' ? reply : { kind: reply.kind, rollout: recordOf(reply.rollout) };
    },
    close: async (key, by) => recordOrNull(await ask('close', { key, by })),
    refuse: async (key, unmet) => recordOrNull(await ask('refuse', { key, unmet: evidenceText(unmet) })),
    void: async (key, reason) => {
      const reply = await ask('void', { key, reason });
      return reply === null ? null : { changed: reply.changed, rollout: recordOf(reply.rollout) };
    },
    showsAgain: (template, what, sandbox) => {
      const digest = createHash('sha256').update(what).digest('hex').slice(0, 32);
      return ask('shows-again', { template, what: digest, sandbox });
    },
    heartbeat: async (key) => recordOrNull(await ask('heartbeat', { key })),
    unserved: async (key) => void (await ask('unserved', { key })),
    expireDue: async (limit) => itemsOf(await ask('expire-due', { limit })).map(recordOf),
    takeBackGrants: (afterMs) => ask('take-back-grants', { afterMs }),
    heartbeatRun: (tenant, ofRun) => ask('renew-run', { run: runName(tenant, ofRun) }),
    closeRun: (tenant, ofRun, limit) => ask('close-run', { run: runName(tenant, ofRun), limit }),
    lapsedRuns: async (limit) => itemsOf(await ask('lapsed-runs', { limit })).map(runOf),
    releaseLapsed: (tenant, ofRun, limit) => ask('release-lapsed', { run: runName(tenant, ofRun), limit }),
    keepContact: (silentMs) => ask('keep-contact', { silentMs: Math.round(silentMs) }),
  };
}
