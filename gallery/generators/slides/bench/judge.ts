import { page } from './browser.ts';
import type { Box, Line, Slide, Word } from './measure.ts';
import { hasSmallWords, type Point, wordsIn } from './points.ts';

/* What a deck is worth: what a viewer can read of the points, times how its pages look. No taste: all of it is counted. */

export type Asked = { readonly heading: string; readonly points: readonly Point[] };

export type Judged = {
  readonly score: number;
  readonly content: number;
  readonly harmony: number;
  readonly slides: readonly JudgedSlide[];
};

export type Look = {
  readonly overflow: number;
  readonly overlap: number;
  readonly contrast: number;
  readonly size: number;
  readonly words: number;
  readonly area: number;
};

export type JudgedSlide = { readonly covered: number; readonly asked: number; readonly look: Look };

const limits = {
  /** Of text that can be read at all, in pixels; and from where on it reads well. */
  size: { least: 12, well: 18 },
  contrast: { least: 3, well: 4.5 },
  /** Words of a slide: up to here they fit, from there on they are too many. */
  words: { well: 120, most: 240 },
  /** Of a line: more is a text, and no line of a slide. */
  lineWords: 32,
  /** The share of the page with text. */
  area: { least: 0.15, most: 0.85 },
  /** Below this share of the points a deck is worth nothing. */
  content: 0.3,
  families: 2,
} as const;

export function judgeDeck(slides: readonly Slide[], asked: readonly Asked[]): Judged {
  const judged = asked.map((each, index) => judgeSlide(slides[index], each));
  const points = sum(judged.map((each) => each.asked));
  const content = points === 0 ? 0 : sum(judged.map(({ covered }) => covered)) / points;
  const harmony = harmonyOf(slides.slice(0, asked.length));
  // A slide too many makes the deck longer than was asked for.
  const look = sum(judged.map((each) => lookOfAll(each.look))) / Math.max(asked.length, slides.length);
  const score = content < limits.content ? 0 : content * look * harmony;
  return { score: round(score), content: round(content), harmony, slides: judged };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const product = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1);
const round = (value: number): number => Math.round(value * 1000) / 1000;

/** What any one fault leaves of a page's worth, so that mending it is paid even next to others. */
const floor = 0.25;

const lookOfAll = (look: Look): number =>
  product(Object.values(look).map((each) => floor + (1 - floor) * each));

const noLook: Look = { overflow: 0, overlap: 0, contrast: 0, size: 0, words: 0, area: 0 };

function judgeSlide(slide: Slide | undefined, { heading, points }: Asked): JudgedSlide {
  const words = slide?.lines.flatMap((line) => line.words) ?? [];
  if (slide === undefined || words.length === 0) return { covered: 0, asked: points.length, look: noLook };
  const covering = overlappedOf(words);
  const readable = slide.lines.filter((line) =>
    line.words.every((word) => isReadable(word) && !covering.has(word)),
  );
  const title = readable.find((line) => line.heading);
  const isTitled = title !== undefined && same(title.text) === same(heading);
  const look = lookOf(slide, words, covering);
  return { covered: isTitled ? coveredOf(readable, points) : 0, asked: points.length, look };
}

const same = (text: string): string => text.toLowerCase().replaceAll(/\W+/g, '');

const isInside = ({ x, y, width, height }: Box): boolean =>
  x >= 0 && y >= 0 && x + width <= page.width && y + height <= page.height;

const fitsPage = ({ boxes }: Word): boolean => boxes.length > 0 && boxes.every(isInside);

/** A fifth of its size is the narrowest letter; of its ink nearly all must be seen. */
const narrowest = 0.2;
const mostlySeen = 0.9;

function isReadable(word: Word): boolean {
  const width = sum(word.boxes.map((box) => box.width));
  const height = Math.max(0, ...word.boxes.map((box) => box.height));
  const isLarge = word.size >= limits.size.least && height >= limits.size.least;
  const isSeen = word.contrast >= limits.contrast.least && word.seen >= mostlySeen;
  return (
    fitsPage(word) && !word.clipped && isLarge && isSeen && width >= narrowest * word.size * word.text.length
  );
}

/** Words that share more than a sixth of the smaller one's room with another; tight lines share less. */
function overlappedOf(words: readonly Word[]): ReadonlySet<Word> {
  const cores = words.flatMap((word) => word.boxes.map((box) => ({ word, box: coreOf(box) })));
  const found = new Set<Word>();
  for (const [index, one] of cores.entries())
    for (const other of cores.slice(index + 1))
      if (one.word !== other.word && sharedOf(one.box, other.box) > 1 / 6)
        found.add(one.word).add(other.word);
  return found;
}

/** Letters fill the middle of the room of their line. */
const coreOf = ({ x, y, width, height }: Box): Box => ({ x, y: y + height / 4, width, height: height / 2 });

function sharedOf(one: Box, other: Box): number {
  const across = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
  const down = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
  const smaller = Math.min(one.width * one.height, other.width * other.height);
  return across <= 0 || down <= 0 || smaller === 0 ? 0 : (across * down) / smaller;
}

/** Each line says one point at most, so that no line can list them all. */
function coveredOf(lines: readonly Line[], points: readonly Point[]): number {
  const free = new Set(lines.filter((line) => !line.heading && readsAsText(line)));
  return points.filter((point) => {
    const found = [...free].find((line) => says(line, point));
    if (found !== undefined) free.delete(found);
    return found !== undefined;
  }).length;
}

/** Text has small words between the others; a list of terms has none. */
const readsAsText = ({ text, words }: Line): boolean =>
  words.length <= limits.lineWords && hasSmallWords(text);

/** The term, and enough of the sentence's other words in its order: a shuffled list says nothing. */
function says({ text }: Line, { term, words }: Point): boolean {
  if (!text.replaceAll(/\s+/g, ' ').includes(term)) return false;
  const places = wordsIn(text).map((word) => words.indexOf(word));
  const found = [...new Set(places.filter((place) => place !== -1))];
  return found.length >= Math.max(3, words.length * 0.4) && longestRise(found) >= found.length * inOrder;
}

/** The share of the words found that must be in the sentence's order; words in the order of the alphabet are not. */
const inOrder = 0.8;

function longestRise(places: readonly number[]): number {
  const ends: number[] = [];
  for (const place of places) {
    const at = ends.findIndex((end) => end >= place);
    ends[at === -1 ? ends.length : at] = place;
  }
  return ends.length;
}

function lookOf({ filled }: Slide, words: readonly Word[], overlapped: ReadonlySet<Word>): Look {
  const share = (fits: (word: Word) => boolean) => round(words.filter(fits).length / words.length);
  const { most, well } = limits.words;
  const area = filled < limits.area.least ? filled / limits.area.least : filled > limits.area.most ? 0.5 : 1;
  return {
    overflow: share((word) => fitsPage(word) && !word.clipped),
    overlap: share((word) => !overlapped.has(word)),
    contrast: share(({ contrast }) => contrast >= limits.contrast.well),
    size: share(({ size }) => size >= limits.size.well),
    words: round(Math.min(1, Math.max(0, (most - words.length) / (most - well)))),
    area: round(area),
  };
}

/** A fifth less for each: fonts, sizes of headings and backgrounds that differ between slides. */
function harmonyOf(slides: readonly Slide[]): number {
  const words = slides.flatMap(({ lines }) => lines.flatMap((line) => line.words));
  const headings = slides.flatMap(({ lines }) => lines.find((line) => line.heading)?.words[0]?.size ?? []);
  const trouble = [
    new Set(words.map(({ family }) => family)).size > limits.families,
    new Set(headings).size > 1,
    new Set(slides.map(({ background }) => background)).size > 1,
  ];
  return round(0.8 ** trouble.filter(Boolean).length);
}
