import type { ControlKey, ControlReply, ControlStore, Standing } from '#src/ports/fleet/controls.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';

export function controlStore(run: RunScript): ControlStore {
  const { ask } = scriptsOver(run);
  return {
    standing: async (key) => {
      const known = await ask('read-control', { name: nameOf(key) });
      return known === null ? null : (replyOf(known) as Standing);
    },
    ask: async (key, holder, leaseMs, again) =>
      replyOf(await ask('ask-control', { name: nameOf(key), holder, leaseMs, again })),
    conclude: async (key, holder, found) => {
      const { standing, ...facts } = found ?? { standing: undefined };
      const asked = { name: nameOf(key), holder, found: standing, facts: JSON.stringify(facts) };
      return replyOf(await ask('conclude-control', asked));
    },
  };
}

const nameOf = ({ tenant, version, task }: ControlKey): string =>
  `${encodeURIComponent(tenant)}/${version}/${task}`;

type Known = { readonly standing: string; readonly facts?: string };

function replyOf({ standing, facts = '{}' }: Known): ControlReply {
  return { standing: standing as ControlReply['standing'], ...(JSON.parse(facts) as object) };
}
