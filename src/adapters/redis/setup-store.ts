import { callId } from '#src/model/ids.ts';
import type { SetupStore } from '#src/ports/fleet/setup.ts';
import { recordOf } from './record.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';

export function setupStore(run: RunScript): SetupStore {
  const { exchange } = scriptsOver(run);
  return {
    replay: async (key, generation, ended) => {
      const asked = { key, generation, ended: ended ?? undefined };
      const { reply, texts } = await exchange('replay-setup', asked);
      switch (reply.kind) {
        case 'step':
          return { kind: 'step', step: reply.step, call: callId(reply.call), sent: texts[0] ?? '' };
        case 'lost':
          return { kind: 'lost', rollout: recordOf(reply.rollout) };
        case 'done':
        case 'over':
          return reply;
      }
    },
  };
}
