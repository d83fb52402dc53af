import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allowed, most, refusedSource } from './allowed.ts';
import { BrowserDied, page, type Tab, withBrowser } from './browser.ts';
import { contrastOf, luminanceAt, type Picture, readPng } from './pixels.ts';

/* What a viewer of a deck sees, as numbers. Scripts of the page do not run; what is looked at is its pixels and the places of its words. */

export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };

type PlacedWord = {
  readonly text: string;
  readonly boxes: readonly Box[];
  /** A box around it cuts it off. */
  readonly clipped: boolean;
  readonly size: number;
  readonly family: string;
};

export type Word = PlacedWord & {
  /** Between its letters and what is behind them. */
  readonly contrast: number;
  /** The share of its ink that can be seen. */
  readonly seen: number;
};

type LineOf<OneWord> = {
  readonly heading: boolean;
  readonly text: string;
  readonly words: readonly OneWord[];
};
export type Line = LineOf<Word>;

export type Slide = {
  readonly lines: readonly Line[];
  /** The color of the page's corner. */
  readonly background: string;
  /** The share of the page that has text, of 16 × 9 fields. */
  readonly filled: number;
};

export type Measured =
  | { readonly refused: readonly string[] }
  | { readonly slides: readonly Slide[] }
  | { readonly died: string }
  | { readonly fault: string };

const fonts = join(import.meta.dirname, '../fonts/fonts.conf');
const inPage = readFileSync(join(import.meta.dirname, 'in-page.js'), 'utf8').replaceAll(
  'export function',
  'function',
);

/** A page whose measures are known: if they differ, the machine is at fault, and not a deck. */
const control = `<!doctype html><html><body><section><h1 style="font: 40px sans-serif; margin: 40px; color: #000">Control of this machine</h1></section></body></html>`;
const controlWidths = [143, 38, 73, 172];

export async function measureDeck(html: string): Promise<Measured> {
  const refused = refusedSource(html);
  if (refused.length > 0) return { refused };
  return inBrowser((tab) => measureIn(tab, html));
}

/** Whether this machine measures a known page rightly. */
export const measureControl = (): Promise<Measured> => inBrowser(async () => ({ slides: [] }));

async function inBrowser(work: (tab: Tab) => Promise<Measured>): Promise<Measured> {
  let ready = false;
  try {
    return await withBrowser(fonts, async (openTab) => {
      const measured = await measureIn(await openTab(), control);
      const trouble = troubleIn(measured);
      if (trouble !== null) return { fault: trouble };
      ready = true;
      return work(await openTab());
    });
  } catch (error) {
    if (!(error instanceof BrowserDied)) throw error;
    return ready ? { died: error.message } : { fault: error.message };
  }
}

function troubleIn(measured: Measured): string | null {
  const words = 'slides' in measured ? (measured.slides[0]?.lines[0]?.words ?? []) : [];
  const widths = words.map(({ boxes }) => Math.round(boxes[0]?.width ?? 0));
  const isRight =
    words.every(({ seen, contrast }) => seen > 0.99 && contrast > 15) &&
    widths.join() === controlWidths.join();
  return isRight ? null : `the control page has other measures: ${JSON.stringify(measured).slice(0, 1_000)}`;
}

async function measureIn(tab: Tab, html: string): Promise<Measured> {
  await tab.show(html);
  const refused = (await tab.evaluate(
    `${inPage}; refusalsInPage(${JSON.stringify(allowed)}, ${JSON.stringify(most)})`,
  )) as string[];
  if (refused.length > 0) return { refused };
  const slides: Slide[] = [];
  const count = Number(await tab.evaluate(`${inPage}; showPage(1, 'whole')`));
  for (let number = 1; number <= count; number += 1) {
    const slide = await measureSlide(tab, number);
    if (slide === null) return { refused: ['too many words'] };
    slides.push(slide);
  }
  return { slides };
}

type Pictures = { readonly whole: Picture; readonly bare: Picture; readonly text: Picture };

async function measureSlide(tab: Tab, number: number): Promise<Slide | null> {
  const picture = async (mode: keyof Pictures) => {
    await tab.evaluate(`${inPage}; showPage(${number}, '${mode}')`);
    return readPng(await tab.picture());
  };
  const pictures = {
    whole: await picture('whole'),
    bare: await picture('bare'),
    text: await picture('text'),
  };
  const found = await tab.evaluate(
    `${inPage}; showPage(${number}, 'whole'); wordsOfPage(${number}, ${JSON.stringify(most)})`,
  );
  if (found === null) return null;
  const lines = (found as LineOf<PlacedWord>[]).map(({ heading, text, words }) => ({
    heading,
    text,
    words: words.map((word) => withSight(word, pictures)),
  }));
  return { lines, background: cornerOf(pictures.bare), filled: filledShare(pictures.text) };
}

/** Ink is what a word would color on white paper by more than half. */
const inkLuminance = 0.2;
/** Of what is seen, the best tenth tells the contrast: the edges of letters are blends. */
const best = 0.9;

function withSight(word: PlacedWord, { whole, bare, text }: Pictures): Word {
  const contrasts = word.boxes.flatMap((box) =>
    pixelsOf(box).flatMap(([x, y]) =>
      luminanceAt(text, x, y) > inkLuminance
        ? []
        : [contrastOf(luminanceAt(whole, x, y), luminanceAt(bare, x, y))],
    ),
  );
  if (contrasts.length === 0) return { ...word, contrast: 1, seen: 0 };
  const contrast = contrasts.toSorted((a, b) => a - b)[Math.floor(best * (contrasts.length - 1))] ?? 1;
  const seen = contrasts.filter((each) => each > 1 + (contrast - 1) / 8 && each > 1.1).length;
  return { ...word, contrast: round(contrast), seen: round(seen / contrasts.length) };
}

const round = (value: number): number => Math.round(value * 100) / 100;

function pixelsOf({ x, y, width, height }: Box): readonly (readonly [number, number])[] {
  const [left, top] = [Math.max(0, Math.floor(x)), Math.max(0, Math.floor(y))];
  const [right, bottom] = [
    Math.min(page.width, Math.ceil(x + width)),
    Math.min(page.height, Math.ceil(y + height)),
  ];
  const found: (readonly [number, number])[] = [];
  for (let row = top; row < bottom; row += 1)
    for (let column = left; column < right; column += 1) found.push([column, row]);
  return found;
}

const cornerOf = ({ width, bytes, pixels }: Picture): string =>
  [...pixels.subarray((4 * width + 4) * bytes, (4 * width + 4) * bytes + 3)].join();

const field = 80;

function filledShare(text: Picture): number {
  const fields = [...Array((page.width / field) * (page.height / field)).keys()].map((index) => ({
    x: (index % (page.width / field)) * field,
    y: Math.floor(index / (page.width / field)) * field,
  }));
  const filled = fields.filter(({ x, y }) =>
    pixelsOf({ x, y, width: field, height: field }).some(
      ([column, row]) => luminanceAt(text, column, row) < inkLuminance,
    ),
  );
  return round(filled.length / fields.length);
}
