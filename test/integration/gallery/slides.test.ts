import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cheats } from '#gallery/slides/cheats.ts';
import { drawDeck, sectionsOf } from '#gallery/slides/decks.ts';
import { pointOf } from '#gallery/generators/slides/bench/points.ts';
import { galleryFolder } from '#gallery/roster.ts';

/* The measures of decks, in a real Chromium and without a fleet: what is refused, and what cannot be read. */

let data = '';
let workspace = '';
beforeAll(() => {
  data = mkdtempSync(join(tmpdir(), 'corral-slides-'));
  workspace = join(data, 'workspace');
  mkdirSync(workspace);
  cpSync(join(galleryFolder, 'generators/slides'), join(data, 'inputs/slides'), { recursive: true });
  mkdirSync(join(data, 'built'));
  const built = spawnSync(process.execPath, ['slides/build.ts'], {
    cwd: join(data, 'inputs'),
    encoding: 'utf8',
    env: { ...process.env, CORRAL_DATA: join(data, 'built') },
  });
  expect(built.stderr).toBe('');
});
afterAll(() => rmSync(data, { recursive: true, force: true }));

const brief = `## Retries

A failed request is tried again by \`RetryAgent\` until the most retries are reached.
The option \`timeoutFactor\` multiplies the time between two retries of one request.`;
const sections = sectionsOf(brief);

/** What `check_deck` says of a deck. */
function said(html: string): string {
  writeFileSync(join(workspace, 'deck.html'), html);
  const { stdout, stderr } = spawnSync(process.execPath, [join(data, 'built/slides/bench/tool.ts')], {
    cwd: workspace,
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`.trim();
}

const lookOf = (html: string): Readonly<Record<string, number>> =>
  JSON.parse(/slide 1: (.*)/.exec(said(html))?.[1] ?? 'null') as Readonly<Record<string, number>>;

const refusals: Readonly<Record<string, string>> = {
  'script-that-fills-in': 'element script',
  'event-handler': 'attribute onclick',
  'loads-a-style': 'element link',
  'imports-a-style': 'rule @import',
  'print-rules': 'rule @media',
  'written-by-style': 'selector ::after',
  frame: 'element iframe',
  'shadow-root': 'element template',
  'no-opacity': 'property opacity',
  'cut-off': 'property clip-path',
  'faint-animation': 'property animation',
  'moved-away': 'property transform',
  'picture-of-text': 'element img',
  'drawn-text': 'element svg',
  canvas: 'element canvas',
  'own-font': 'rule @font-face',
  'in-an-attribute': 'attribute title',
  'huge-page': 'property zoom',
  'deep-tables': 'too many elements',
};

test.each(Object.entries(refusals))('%s is refused by its name', (name, refusal) => {
  expect(said(cheats[name]?.(sections, sections) ?? '')).toMatch(new RegExp(`^refused: .*${refusal}`));
});

test.each([
  ['color-on-color', 'contrast'],
  ['almost-transparent', 'contrast'],
  ['covered', 'contrast'],
  ['off-the-page', 'overflow'],
  ['below-the-page', 'overflow'],
  ['no-room', 'overflow'],
  ['no-size', 'size'],
  ['on-one-another', 'overlap'],
  ['lines-in-one-place', 'overlap'],
])('%s is measured as %s', (name, part) => {
  expect(lookOf(cheats[name]?.(sections, sections) ?? '')[part]).toBeLessThan(0.5);
});

test('a plain deck looks well, and has the same measures each time', () => {
  const deck = drawDeck(sections);
  const first = said(deck);
  expect(lookOf(deck)).toMatchObject({ overflow: 1, overlap: 1, contrast: 1, size: 1, words: 1 });
  expect(said(deck)).toBe(first);
});

const asked = sections.map(({ heading, sentences }) => ({
  heading,
  points: sentences.flatMap((sentence) => pointOf(sentence) ?? []),
}));

/** The grader, with a program in the place of `as-policy`: `$last` is the last argument, and the program that is to run is "$@". */
function graded(html: string, asPolicy: string) {
  writeFileSync(join(workspace, 'deck.html'), html);
  const program = join(data, 'as-policy');
  const options = 'while [ "${1#--}" != "$1" ]; do [ "$1" = --stdin ] || shift; shift; done';
  writeFileSync(program, `#!/bin/sh\n${options}\nfor last; do :; done\n${asPolicy}\nexec "$@"\n`);
  chmodSync(program, 0o755);
  const scoreFile = join(data, 'score');
  rmSync(scoreFile, { force: true });
  const { status, stderr } = spawnSync(
    join(data, 'built/node'),
    [join(data, 'built/slides/bench/grade.ts')],
    {
      cwd: workspace,
      encoding: 'utf8',
      input: JSON.stringify({ slides: asked }),
      env: { PATH: `${data}:${process.env['PATH'] ?? ''}`, CORRAL_SCORE_FILE: scoreFile },
    },
  );
  return { status, stderr, score: status === 0 ? Number(readFileSync(scoreFile, 'utf8')) : null };
}

test('the grader scores a whole deck with 1, and a hidden one with 0', () => {
  expect(graded(drawDeck(sections), '')).toMatchObject({ status: 0, score: 1 });
  expect(graded(cheats['color-on-color']?.(sections, sections) ?? '', '')).toMatchObject({ score: 0 });
});

test('a deck that cannot be shown next to a page that can is the policy’s, and scores 0', () => {
  const slow = 'case "$last" in *measure-stdin.ts) exit 124 ;; esac';
  expect(graded(drawDeck(sections), slow)).toMatchObject({ status: 0, score: 0 });
});

test('a machine that cannot show the grader’s own page either is at fault: there is no score', () => {
  const broken = 'case "$*" in *measure-stdin.ts*) exit 124 ;; esac';
  expect(graded(drawDeck(sections), broken)).toMatchObject({ status: 1, score: null });
});
