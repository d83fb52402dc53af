import { readFileSync } from 'node:fs';
import { measureControl, measureDeck } from './measure.ts';

/* Measures the deck on stdin, or with `control` only this machine, and prints what was found. */

const measured =
  process.argv[2] === 'control' ? await measureControl() : await measureDeck(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(measured));
