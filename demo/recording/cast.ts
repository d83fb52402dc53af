import { type Row, Screen } from './screen.ts';

/** A picture and how long it is shown. */
export type Frame = { readonly rows: readonly Row[]; readonly seconds: number; readonly isEnd?: true };

type Options = {
  readonly rows: number;
  /** Between two pictures of the recording. */
  readonly stepSeconds: number;
  /** How many times as fast as it was. */
  readonly speed: number;
  /** Of the last output, if it is longer than the screen. */
  readonly pageSeconds: number;
};

/** Pictures of a recording of asciinema (asciicast 2): its screen at every step, then what was printed last, page by page. */
export function framesOf(cast: string, options: Options): readonly Frame[] {
  const screen = new Screen();
  const frames: Frame[] = [];
  let next = 0;
  let end = 0;
  for (const [at, text] of outputs(cast)) {
    for (; next < at && screen.rows.length > 1; next += options.stepSeconds)
      frames.push({
        rows: lastRows(screen.copy(), options.rows),
        seconds: options.stepSeconds / options.speed,
      });
    next = Math.max(next, Math.floor(at / options.stepSeconds) * options.stepSeconds);
    if (screen.rows.length <= options.rows) end = screen.rows.length;
    screen.write(text);
  }
  return [...joined(frames), ...pages(screen.copy(), end, options)];
}

function outputs(cast: string): readonly (readonly [number, string])[] {
  const [, ...lines] = cast.trim().split('\n');
  return lines.flatMap((line) => {
    const event: unknown = JSON.parse(line);
    if (!Array.isArray(event)) return [];
    const [at, kind, text]: unknown[] = event;
    return kind === 'o' && typeof text === 'string' ? [[Number(at), text] as const] : [];
  });
}

const lastRows = (rows: readonly Row[], count: number) => rows.slice(Math.max(0, rows.length - count));

/** Equal pictures one after another are one. */
function joined(frames: readonly Frame[]): readonly Frame[] {
  const whole: Frame[] = [];
  for (const frame of frames) {
    const before = whole.at(-1);
    const isSame = before !== undefined && JSON.stringify(before.rows) === JSON.stringify(frame.rows);
    if (isSame) whole[whole.length - 1] = { ...before, seconds: before.seconds + frame.seconds };
    else whole.push(frame);
  }
  return whole;
}

function pages(rows: readonly Row[], from: number, { rows: height, pageSeconds }: Options): readonly Frame[] {
  const starts: number[] = [];
  for (let start = Math.max(0, from - 1); start < rows.length; start += height) starts.push(start);
  const shown = starts.map((start) => rows.slice(start, start + height));
  return (rows.length <= height ? [rows] : shown).map((page) => ({
    rows: page,
    seconds: pageSeconds,
    isEnd: true,
  }));
}
