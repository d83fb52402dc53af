import type { CatalogEntry, CatalogStore } from '#src/ports/fleet/catalogs.ts';
import { environmentsKeptMs } from './environment-store.ts';
import { listOf, numberOf, textOf, textOrNull } from './reply.ts';
import type { RunScript } from './script-runner.ts';

/** Fifteen times the interval at which processes say what they have: a pause is not an end. */
const silentMs = 30_000;

/** Catalogs come from our own loader and are stored as they are, so they are not checked again here. */
export function catalogStore(run: RunScript): CatalogStore {
  return {
    hold: async (holder, catalog, sinceMs) => {
      const reply = await run('hold-catalog', holder, silentMs, environmentsKeptMs, catalog, sinceMs ?? '');
      if (reply === null) return null;
      const [newest, since] = listOf(reply);
      return { newest: textOf(newest), sinceMs: numberOf(since) };
    },
    leave: async (holder) => {
      const [newest] = listOf(await run('hold-catalog', holder, silentMs, environmentsKeptMs, '', ''));
      return textOrNull(newest);
    },
    publish: async (catalog, entries) => {
      await run('publish-catalog', catalog, JSON.stringify(entries), environmentsKeptMs);
    },
    entries: async (catalog) => {
      const text = await run('load-catalog', catalog);
      return text === null ? null : (JSON.parse(textOf(text)) as readonly CatalogEntry[]);
    },
  };
}
