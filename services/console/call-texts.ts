import { type KeptSource, openKept } from '#cli/stories/kept-source.ts';
import { type CallText, readCallTexts } from '#src/adapters/event-log/kept-log.ts';
import { type Owner, ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { KeptText } from '#src/ports/fleet/calls.ts';
import type { Excerpt } from '#src/protocol/console/rollout.ts';
import type { ConsoleConfig } from './config.ts';

export type RolloutTexts = {
  readonly place: string;
  readonly unreadable: readonly string[];
  readonly byCall: ReadonlyMap<string, Pick<CallText, 'arguments' | 'output'>>;
};

/** What calls asked for and returned, as far as it is kept. */
export type KeptTexts = {
  /** Of one rollout of one tenant. */
  ofRollout(key: RolloutKey): Promise<RolloutTexts>;
  /** Of a run of one tenant, in no order; some come twice. Parts that cannot be read are added to `unreadable`. */
  ofRun(run: RunOfTenant, unreadable: string[]): AsyncGenerator<CallText>;
};
type RunOfTenant = Pick<Owner, 'tenant' | 'run'>;

export function openTexts(kept: ConsoleConfig['kept']): KeptTexts {
  const open = opener(kept);
  return {
    ofRollout: async (key) => {
      const source = open?.() ?? null;
      if (source === null) return { place: 'nowhere', unreadable: [], byCall: new Map() };
      const unreadable: string[] = [];
      const byCall = source.isThere ? await textsOf(source, key, unreadable) : new Map<string, CallText>();
      return { place: source.place, unreadable, byCall };
    },
    ofRun: async function* ({ tenant, run }, unreadable) {
      const source = open?.() ?? null;
      if (source === null || !source.isThere) return;
      const wanted = { tenant, run, rollout: null, withTexts: true };
      const lines = source.lines(wanted, (name, why) => unreadable.push(`${name}: ${why}`));
      const mark = `/${encodeURIComponent(run)}/`;
      yield* readCallTexts(lines, mark, (owner) => owner.tenant === tenant && owner.run === run);
    },
  };
}

function opener(kept: ConsoleConfig['kept']): (() => KeptSource) | null {
  if (kept === null) return null;
  if ('store' in kept) {
    const store = openKept({ store: kept.store }, kept.variables);
    return () => store;
  }
  // A fleet that has kept nothing yet has no folder: whether it is there is looked at each time.
  return () => openKept({ kept: kept.folder }, {});
}

/** A graded rollout has its calls twice; the process that settled one may have known less of it. */
async function textsOf(source: KeptSource, key: RolloutKey, unreadable: string[]) {
  const { tenant, run, rollout, attempt } = ownerOf(key);
  const lines = source.lines({ tenant, run, rollout }, (name, why) => unreadable.push(`${name}: ${why}`));
  const texts = new Map<string, CallText>();
  const mark = `/${encodeURIComponent(rollout)}/`;
  const isWanted = (owner: ReturnType<typeof ownerOf>) =>
    owner.tenant === tenant && owner.run === run && owner.rollout === rollout && owner.attempt === attempt;
  for await (const text of readCallTexts(lines, mark, isWanted)) {
    const known = texts.get(text.call);
    texts.set(text.call, {
      ...text,
      arguments: known?.arguments ?? text.arguments,
      output: known?.output ?? text.output,
    });
  }
  return texts;
}

/** What a list of calls shows of each, and what a page shows of one. */
const excerptLength = 420;
const longestText = 256 * 1024;

export const excerptOf = (kept: KeptText | null | undefined): Excerpt | null => cut(kept, excerptLength);
export const textOf = (kept: KeptText | null | undefined): Excerpt | null => cut(kept, longestText);

const cut = (kept: KeptText | null | undefined, most: number): Excerpt | null =>
  kept === null || kept === undefined
    ? null
    : { text: kept.text.slice(0, most).toWellFormed(), length: kept.text.length, whole: kept.whole };
