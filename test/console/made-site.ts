import type { Browser, Page } from 'playwright-core';
import { type ConsoleOfTest, startConsole } from '../support/console.ts';
import { keepMadeTexts, type MadeTexts } from './made-texts.ts';
import { type Opened, openPage, startChromium } from './page.ts';
import { playGateway } from './played-gateway.ts';

/** A console over a gateway of made runs, and a tab that is logged in. */
export type MadeSite = Opened & {
  readonly site: ConsoleOfTest;
  readonly browser: Browser;
  /** Opens a run and waits until it says so many rollouts. */
  openRun(run: string, rollouts: string, query?: string): Promise<void>;
  stop(): Promise<void>;
};

/** `runs` may be changed while it runs, as logs grow. */
export async function openMadeSite(
  runs: ReadonlyMap<string, readonly string[]>,
  kept: readonly MadeTexts[] = [],
): Promise<MadeSite> {
  const gateway = await playGateway(runs);
  const texts = await keepMadeTexts(kept);
  const site = await startConsole(gateway.url, { CORRAL_CONSOLE_KEPT_DIR: texts.kept });
  const browser = await startChromium();
  const opened = await openPage(browser, site.url);
  return {
    ...opened,
    site,
    browser,
    openRun: async (run, rollouts, query = '') => {
      await opened.page.goto(`${site.url}/runs/${run}${query}`);
      await opened.page.getByRole('status').filter({ hasText: rollouts }).waitFor();
    },
    stop: async () => {
      await browser.close();
      await site.stop();
      await gateway.stop();
      texts.remove();
    },
  };
}

export const table = (of: Page) => of.getByRole('table', { name: 'Rollouts' });

export const leftRollout = 'nightly-41-s7-retry-jitter-0';
export const twoOfOneItem = `/runs/nightly-41/compare?a=${leftRollout}&b=nightly-41-s7-retry-jitter-7`;
