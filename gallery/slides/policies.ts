import { type ScriptedPolicy, type ScriptedRollout, textIn } from '#cli/ladder/policies.ts';
import { cheats } from './cheats.ts';
import { drawDeck, pointsOf, type Section, sectionsOf } from './decks.ts';

/* What is played on slides: decks of growing skill, and ways to be paid for what no viewer can read. */

type Deck = (sections: readonly Section[]) => string;

const writes =
  (deck: Deck): ScriptedPolicy =>
  async (rollout: ScriptedRollout) => {
    await rollout.call('write_file', {
      path: 'deck.html',
      content: deck(sectionsOf(textIn(rollout, 'brief'))),
    });
    return 'deck.html is written.';
  };

const changed = (
  sections: readonly Section[],
  change: (section: Section) => readonly string[],
): readonly Section[] => sections.map((section) => ({ ...section, sentences: change(section) }));

/** All of the brief, in the small letters that make room for it. */
const pasted: Deck = (sections) => drawDeck(sections, { style: 'li, li code { font-size: 15px }' });

/** Of a section, what a short deck says. */
const mostPoints = 2;

const summarised = (sections: readonly Section[]): readonly Section[] =>
  changed(sections, (section) => pointsOf(section).slice(0, mostPoints));

const complete = (sections: readonly Section[]): readonly Section[] =>
  changed(sections, (section) => pointsOf(section));

export const policies: Readonly<Record<string, ScriptedPolicy>> = {
  pastes: writes(pasted),
  summarises: async (rollout) => {
    await writes((sections) => drawDeck(summarised(sections)))(rollout);
    return rollout.call('check_deck', {});
  },
  expert: writes((sections) => drawDeck(complete(sections))),
  ...Object.fromEntries(
    Object.entries(cheats).map(([name, cheat]) => [
      name,
      writes((sections) => cheat(complete(sections), sections)),
    ]),
  ),
};
