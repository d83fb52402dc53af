import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleServices } from '#infra/services/bundle-services.ts';
import { madeLong, madeMany } from './made-runs.ts';
import { type MadeSite, openMadeSite, table } from './made-site.ts';
import { numberIn } from './page.ts';

let made: MadeSite;
let site: MadeSite['site'];
let page: MadeSite['page'];
beforeAll(async () => {
  made = await openMadeSite(
    new Map([
      ['many', madeMany('many', 10_000)],
      ['long', madeLong('long', 4_000)],
    ]),
  );
  ({ site, page } = made);
});
afterAll(() => made.stop());

test('script and style, compressed, are at most 45 and 8 KB', async () => {
  const { dir } = await bundleServices();
  const sizeOf = (name: string) => gzipSync(readFileSync(join(dir, 'page', name))).length;
  expect(sizeOf('page.js')).toBeLessThan(45_000);
  expect(sizeOf('page.css')).toBeLessThan(8_000);
});

test('a rollout of 4,000 calls has at most 5,000 nodes', async () => {
  await page.goto(`${site.url}/runs/long/rollouts/long`);
  await page.locator('#call-1').waitFor();
  expect(await numberIn(page, "document.querySelectorAll('*').length")).toBeLessThan(5_000);
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await page.locator('#call-4000').waitFor();
  expect(await numberIn(page, "document.querySelectorAll('*').length")).toBeLessThan(5_000);
});

test('two rollouts of 4,000 calls side by side have at most 5,000 nodes', async () => {
  await page.goto(`${site.url}/runs/long/compare?a=long&b=long`);
  await page.getByText('Only the first 1,000 calls of each are compared.').waitFor();
  expect(await page.locator('.pair.same').count()).toBeGreaterThan(0);
  expect(await numberIn(page, "document.querySelectorAll('*').length")).toBeLessThan(5_000);
});

test('10,000 rollouts: one answer of at most 350 KB, and only rows of the screen in the page', async () => {
  await made.openRun('many', '10,000 rollouts');
  expect(await rowsShown()).toBeLessThan(40);
  const answer = await page.evaluate(`fetch('/api/runs/many').then((a) => a.text())`);
  expect(gzipSync(String(answer)).length).toBeLessThan(350_000);
});

test('a key press rebuilds at most the rows of the screen and no chart, and neither does a scroll', async () => {
  await made.openRun('many', '10,000 rollouts');
  await watchChanges();
  await page.getByRole('searchbox').fill('many-77');
  await page
    .getByRole('status')
    .filter({ hasText: /^11\d rollouts$/ })
    .waitFor();
  const { rows, charts } = await changes();
  expect(rows).toBeLessThanOrEqual(2 * (await rowsShown()));
  expect(charts).toBe(0);
  await page.getByRole('searchbox').fill('');
  await page.getByRole('status').filter({ hasText: '10,000 rollouts' }).waitFor();
  await watchChanges();
  await table(page).hover();
  await page.mouse.wheel(0, 102);
  await page.locator('.row[aria-rowindex="25"]').waitFor();
  expect(await changes()).toMatchObject({ charts: 0 });
  expect((await changes()).rows).toBeLessThanOrEqual(8);
});

const rowsShown = () => numberIn(page, "document.querySelectorAll('.row').length");

/** Counts rows that come or go, and anything that changes in a chart. */
const watchChanges = () =>
  page.evaluate(`(() => {
    window.seen?.disconnect();
    window.counted = { rows: 0, charts: 0 };
    window.seen = new MutationObserver((records) => {
      for (const { target, addedNodes, removedNodes } of records) {
        for (const node of [...addedNodes, ...removedNodes]) if (node.classList?.contains('row')) window.counted.rows += 1;
        if (target.parentElement?.closest('.charts') !== null) window.counted.charts += 1;
      }
    });
    window.seen.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  })()`);

async function changes(): Promise<{ readonly rows: number; readonly charts: number }> {
  return {
    rows: await numberIn(page, 'window.counted.rows'),
    charts: await numberIn(page, 'window.counted.charts'),
  };
}
