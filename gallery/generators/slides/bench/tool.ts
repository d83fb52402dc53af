import { readFileSync } from 'node:fs';
import { judgeDeck } from './judge.ts';
import { measureDeck } from './measure.ts';

/* The policy's own look at its deck: refusals by name, and how each page looks. What it says is the grader's to judge. */

const measured = await measureDeck(readFileSync('deck.html', 'utf8'));
process.stdout.write(`${report()}\n`);

function report(): string {
  if ('refused' in measured) return `refused: ${measured.refused.join(', ')}`;
  if ('died' in measured) return `Chromium cannot show the deck: ${measured.died}`;
  if ('fault' in measured) throw new Error(measured.fault);
  const asked = measured.slides.map(() => ({ heading: '', points: [] }));
  const { harmony, slides } = judgeDeck(measured.slides, asked);
  const pages = slides.map(({ look }, index) => `slide ${index + 1}: ${JSON.stringify(look)}`);
  return [`harmony: ${harmony}`, ...pages].join('\n');
}
