import { expect, test } from 'vitest';
import { judgeDeck } from '../generators/slides/bench/judge.ts';
import type { Line, Slide, Word } from '../generators/slides/bench/measure.ts';
import { pointOf } from '../generators/slides/bench/points.ts';

const sentences = [
  'A failed request is tried again by `RetryAgent` until the most retries are reached.',
  'The option `timeoutFactor` multiplies the time between two retries of one request.',
];
const asked = [{ heading: 'Retries', points: sentences.flatMap((sentence) => pointOf(sentence) ?? []) }];

/** As a browser would place it: each word next to the one before it. */
function lineOf(text: string, row: number, change: object = {}): Line {
  const words = text.replaceAll('`', '').split(' ');
  return {
    heading: row === 0,
    text: words.join(' '),
    words: words.map((word, index) => wordOf(word, row, index, change)),
  };
}

const wordOf = (text: string, row: number, index: number, change: object): Word => ({
  text,
  boxes: [{ x: 40 + index * 82, y: 40 + row * 40, width: 80, height: 30 }],
  clipped: false,
  size: row === 0 ? 40 : 20,
  family: 'sans-serif',
  contrast: 12,
  seen: 1,
  ...change,
});

const slideOf = (lines: readonly string[], change: object = {}): Slide => ({
  lines: ['Retries', ...lines].map((text, row) => lineOf(text, row, row === 0 ? {} : change)),
  background: '255,255,255',
  filled: 0.3,
});

const scoreOf = (slide: Slide) => judgeDeck([slide], asked).score;

test('a deck with every sentence is worth 1, and one with half of them is worth half', () => {
  expect(scoreOf(slideOf(sentences))).toBe(1);
  expect(scoreOf(slideOf(sentences.slice(0, 1)))).toBe(0.5);
});

test.each([
  ['another heading', { ...slideOf(sentences), lines: slideOf(sentences).lines.slice(1) }],
  ['one line for all', slideOf([`${sentences.join(' ')} ${sentences.join(' ')}`])],
  ['terms alone', slideOf(['RetryAgent', 'timeoutFactor'])],
  [
    'words in the order of the alphabet',
    slideOf(sentences.map((each) => each.split(' ').toSorted().join(' '))),
  ],
  ['a list of the main words', slideOf(['RetryAgent fail request tried retries reach timeoutFactor'])],
  ['a low contrast', slideOf(sentences, { contrast: 2.9 })],
  ['half of the ink', slideOf(sentences, { seen: 0.5 })],
  ['small letters', slideOf(sentences, { size: 11 })],
  ['a box that cuts it off', slideOf(sentences, { clipped: true })],
  ['one place for all words', slideOf(sentences, { boxes: [{ x: 40, y: 100, width: 80, height: 30 }] })],
  [
    'a place outside of the page',
    slideOf(sentences, { boxes: [{ x: 1270, y: 100, width: 80, height: 30 }] }),
  ],
])('%s is worth nothing', (_what, slide) => {
  expect(scoreOf(slide)).toBe(0);
});

test('a slide that was not asked for, and another background, cost a part of the score', () => {
  const slide = slideOf(sentences);
  expect(judgeDeck([slide, slide], asked).score).toBe(0.5);
  const both = judgeDeck([slide, { ...slide, background: '0,0,0' }], [...asked, ...asked]);
  expect(both).toMatchObject({ content: 1, harmony: 0.8, score: 0.8 });
});
