import type { ControlKey, ControlReply, ControlStore, Standing } from '#src/ports/fleet/controls.ts';
import { listOf, type Reply, type RunScript, textOf } from './script-runner.ts';

export function controlStore(run: RunScript): ControlStore {
  return {
    standing: async (key) => {
      const reply = await run('read-control', nameOf(key));
      return reply === null ? null : (replyOf(reply) as Standing);
    },
    ask: async (key, holder, leaseMs, again) =>
      replyOf(await run('ask-control', nameOf(key), holder, leaseMs, again ? 1 : 0)),
    conclude: async (key, holder, found) => {
      const { standing = '', ...facts } = found ?? {};
      return replyOf(await run('conclude-control', nameOf(key), holder, standing, JSON.stringify(facts)));
    },
  };
}

const nameOf = ({ tenant, version, task }: ControlKey): string =>
  `${encodeURIComponent(tenant)}/${version}/${task}`;

function replyOf(reply: Reply): ControlReply {
  const [standing, facts] = listOf(reply);
  const known = facts === undefined || facts === null ? {} : (JSON.parse(textOf(facts)) as object);
  return { standing: textOf(standing) as ControlReply['standing'], ...known };
}
