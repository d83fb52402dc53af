import type { Page } from 'playwright-core';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { madeMany } from '#test/console/made-runs.ts';
import { openPage, startChromium } from '#test/console/page.ts';
import { playGateway } from '#test/console/played-gateway.ts';
import { startConsole } from '#test/support/console.ts';
import { atMostInRounds, type Figure, inTurns, quantile, type Round } from '../figures.ts';

const sizes = { few: 500, many: 10_000 } as const;
type Size = keyof typeof sizes;
/** Even numbers: each second key press takes the search away again. Before them some that do not count, because no script is compiled yet. */
const roundsOfRun = 10;
const usualRuns = 5;
const warmUp = 6;
/** The page waits so long for more typing, whatever a run has. */
const typingMs = 120;

/** A key press in the search and a scroll of the table, in two tabs of one browser that take turns. */
export async function pageWork(say: (line: string) => void, runs: number | null): Promise<readonly Figure[]> {
  const made = Object.entries(sizes).map(([run, count]) => [run, madeMany(run, count)] as const);
  const gateway = await playGateway(new Map(made));
  const site = await startConsole(gateway.url);
  const browser = await startChromium();
  try {
    const few = await tabOf('few', browser, site.url);
    const many = await tabOf('many', browser, site.url);
    const rounds = warmUp + roundsOfRun * (runs ?? usualRuns);
    say(`${rounds} key presses and scrolls in a run of 10,000 and in one of 500, in turns`);
    const measure = async (work: (page: Page, round: number) => Promise<number>) => {
      const measured: Round[] = [];
      for (let round = 0; round < rounds; round += 1)
        measured.push(
          await inTurns({ value: () => work(many, round), floor: () => work(few, round) }, round),
        );
      return measured.slice(warmUp);
    };
    const keys = await measure(pressMs);
    const scrolls = await measure(scrollMs);
    return [
      figureOf('a key press until its rows are painted, past the pause for typing', keys),
      figureOf('a scroll of 900 pixels until its rows are painted', scrolls),
    ];
  } finally {
    await browser.close();
    await site.stop();
    await gateway.stop();
  }
}

function figureOf(work: string, rounds: readonly Round[]): Figure {
  const p95 = (side: keyof Round) =>
    quantile(
      rounds.map((round) => round[side]),
      0.95,
    ).toFixed(0);
  const what = `${work}: 10,000 rollouts (p95 ${p95('value')} ms) against 500 (p95 ${p95('floor')} ms)`;
  return atMostInRounds({ what, unit: 'ms', rounds }, 1.5);
}

async function tabOf(run: Size, browser: Parameters<typeof openPage>[0], url: string): Promise<Page> {
  const { page } = await openPage(browser, url);
  await page.goto(`${url}/runs/${run}`);
  await page
    .getByRole('status')
    .filter({ hasText: `${sizes[run].toLocaleString('en-US')} rollouts` })
    .waitFor();
  return page;
}

/** A digit that leaves some rows, then none: each changes what is shown. */
async function pressMs(page: Page, round: number): Promise<number> {
  await page.bringToFront();
  const search = page.getByRole('searchbox');
  await search.focus();
  const key = round % 2 === 0 ? '7' : 'Backspace';
  // Rows of commands come from the server, after those of ids.
  const answered = key === '7' ? page.waitForResponse(/\/search\?/) : null;
  // In two steps: the key is pressed when the page listens for it.
  await page.evaluate(`void (window.painted = new Promise((done) => {
    const status = document.querySelector('#rollouts [role=status]');
    addEventListener('keydown', ({ timeStamp }) => {
      const seen = new MutationObserver(() => {
        seen.disconnect();
        ${afterPaint('done(performance.now() - timeStamp)')}
      });
      seen.observe(status, { childList: true, characterData: true, subtree: true });
    }, { once: true, capture: true });
  }))`);
  await page.keyboard.press(key);
  const tookMs = Value.Parse(Type.Number(), await page.evaluate('window.painted'));
  await answered;
  return tookMs - typingMs;
}

/** Down in steps, and up again where the shorter table ends. */
async function scrollMs(page: Page, round: number): Promise<number> {
  await page.bringToFront();
  const to = ((round % 15) + 1) * 900;
  const took = await page.evaluate(`new Promise((done) => {
    const table = document.querySelector('.rows');
    const startedMs = performance.now();
    const seen = new MutationObserver(() => {
      seen.disconnect();
      ${afterPaint('done(performance.now() - startedMs)')}
    });
    seen.observe(table, { childList: true, attributes: true, subtree: true });
    table.scrollTop = ${to};
  })`);
  return Value.Parse(Type.Number(), took);
}

/** The frame that shows a change is done when a message that was posted in it arrives. */
const afterPaint = (work: string): string => `requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => { ${work}; };
  channel.port2.postMessage(null);
});`;
