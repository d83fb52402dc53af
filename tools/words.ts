import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Counts, countPhrases, excesses, lowered, type Scope } from './words/count-phrases.ts';

/*
 * `npm run check:words`: counts phrases of tools/words/phrases.json that a reader has to translate, and fails if one occurs more often
 * than recorded in tools/words/counts.json. `npm run fix` records lower counts, so they only fall.
 */

const root = join(import.meta.dirname, '..');
const countsFile = join(import.meta.dirname, 'words/counts.json');
const phrases = JSON.parse(readFileSync(join(import.meta.dirname, 'words/phrases.json'), 'utf8')) as Record<
  string,
  string
>;

const places: Readonly<Record<Scope, string>> = { read: 'what users read', code: 'code' };

const now = countPhrases(Object.keys(phrases), textFiles());
const recorded = JSON.parse(readFileSync(countsFile, 'utf8')) as Counts;
if (process.argv.includes('--record')) {
  writeFileSync(countsFile, `${JSON.stringify(lowered(now, recorded), null, 2)}\n`);
}
for (const { scope, phrase, now: count, most } of excesses(now, recorded))
  console.error(
    `"${phrase}" occurs ${count} times in ${places[scope]}, at most ${most} allowed. Instead: ${phrases[phrase]}`,
  );
const isExceeded = excesses(now, recorded).length > 0;
if (isExceeded) console.error('`git diff -U0 main | grep -nwi PHRASE` shows the new ones');
for (const scope of ['read', 'code'] as const) console.log(`${sum(now[scope])} phrases in ${places[scope]}`);
process.exitCode = isExceeded ? 1 : 0;

function textFiles() {
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
  return tracked
    .filter(
      (path) => /\.(?:ts|md|py|lua|ya?ml|sh|c|h|tpl|txt)$/u.test(path) && !path.startsWith('tools/words'),
    )
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
