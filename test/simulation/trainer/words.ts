import type { Ending, Told } from './ledger.ts';

/** What was told, as a line of the story says it. */
export function wordsFor(told: Told): string {
  switch (told.kind) {
    case 'answer':
      return `200 ${JSON.stringify(told.output)}${told.replayed ? ', replayed' : ''}`;
    case 'score':
      return `200 score ${told.score}`;
    case 'cancelled':
      return told.began ? '202 cancelled, it had begun' : '202 cancelled before it began';
    case 'view':
      return `200 ${told.state}, ${told.verdict}`;
    case 'failure':
      return `${told.status} ${told.code} (${told.message})`;
    case 'lost':
      return 'no answer, the connection is lost';
  }
}

/** What the trainer made of a rollout. */
export function wordsForEnding(ending: Ending): string {
  switch (ending.kind) {
    case 'scored':
      return `SCORED ${ending.score}`;
    case 'discarded':
      return `DISCARDED: ${ending.why}`;
    case 'given_up':
      return 'GIVEN UP by its trainer, without a grade';
  }
}
