import type { Guarded, GuardStore, GuardWord } from '#src/ports/fleet/guards.ts';
import { evidenceOf, evidenceText } from './record.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';

export function guardStore(run: RunScript): GuardStore {
  const { ask } = scriptsOver(run);
  return {
    ask: async (guarded, { ticket, by, leaseMs }): Promise<GuardWord> => {
      const asked = { ...named(guarded), ticket: ticket ?? undefined, by, leaseMs: Math.round(leaseMs) };
      const reply = await ask('ask-guard', asked);
      return reply.kind === 'suspect'
        ? { kind: 'suspect', ticket: reply.ticket, evidence: evidenceOf(reply.evidence ?? null) }
        : { kind: reply.kind, ticket: reply.ticket };
    },
    conclude: async (guarded, ticket, end) => {
      const evidence = end.kind === 'wrong' ? evidenceText(end.evidence) : undefined;
      await ask('conclude-guard', { ...named(guarded), ticket, said: end.kind, evidence });
    },
  };
}

const named = ({ rollout, name, everyGrades }: Guarded) => ({ key: rollout, name, every: everyGrades });
