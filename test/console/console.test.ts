import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleServices } from '#infra/services/bundle-services.ts';
import { type ConsoleOfTest, startConsole } from '../support/console.ts';
import { hostileText, madeHostile, madeLong, madeMany, madeRun } from './made-runs.ts';
import { axeViolations, numberIn, type Opened, openPage, picture, startChromium, type View } from './page.ts';
import { playGateway } from './played-gateway.ts';

let gateway: Awaited<ReturnType<typeof playGateway>>;
let site: ConsoleOfTest;
let browser: Browser;
let opened: Opened;
let page: Page;
beforeAll(async () => {
  const runs = {
    'nightly-41': madeRun('nightly-41'),
    few: madeMany('few', 500),
    many: madeMany('many', 10_000),
    long: madeLong('long', 4_000),
    hostile: madeHostile('hostile'),
    empty: [],
  };
  gateway = await playGateway(new Map(Object.entries(runs)));
  site = await startConsole(gateway.url);
  browser = await startChromium();
  opened = await openPage(browser, site.url);
  page = opened.page;
});
afterAll(async () => {
  await browser.close();
  await site.stop();
  await gateway.stop();
});

const table = (of: Page) => of.getByRole('table', { name: 'Rollouts' });

async function openRun(run: string, rollouts: string, query = ''): Promise<void> {
  await page.goto(`${site.url}/runs/${run}${query}`);
  await page.getByRole('status').filter({ hasText: rollouts }).waitFor();
}

const leftRollout = 'nightly-41-s7-retry-jitter-0';
const twoOfOneItem = `/runs/nightly-41/compare?a=${leftRollout}&b=nightly-41-s7-retry-jitter-7`;

test('the way from the runs to a finding, its rollouts and one of them, and back', async () => {
  await page.goto(site.url);
  await page.getByRole('link', { name: 'nightly-41' }).click();
  const finding = page.getByRole('article').filter({ hasText: '/repos/.tasks' }).first();
  await finding.getByRole('button', { name: /^Show \d+ rollouts$/ }).click();
  expect(new URL(page.url()).search).toMatch(/^\?finding=\d$/);
  await page
    .getByRole('status')
    .filter({ hasText: /^\d{2,3} rollouts$/ })
    .waitFor();
  await table(page).getByRole('link').first().click();
  await page.getByRole('heading', { level: 1, name: /^nightly-41-s7-/ }).waitFor();
  expect(await page.locator('.call').first().textContent()).toContain('ls');
  await page.goBack();
  await page.getByRole('button', { name: 'Show all rollouts' }).waitFor();
});

test('keys move, open, search and change the section, and none acts in a field', async () => {
  await openRun('nightly-41', '384 rollouts');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.locator('.row.at').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('rows.json');
  await page.waitForURL(/text=rows\.json/);
  await page
    .getByRole('status')
    .filter({ hasText: /^84 rollouts$/ })
    .waitFor();
  await table(page).focus();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1 }).filter({ hasText: 'nightly-41-s' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
});

test('a rollout tells its reward, its group, the reasons, and that an output is not kept', async () => {
  await page.goto(`${site.url}/runs/nightly-41/rollouts/${leftRollout}`);
  await page.getByText('reward 0.95').waitFor();
  const text = await page.locator('main').innerText();
  for (const words of ['against its group', 'nothing was taken off', 'without a kept output', 'retry-jitter'])
    expect(text).toContain(words);
});

test('two rollouts are chosen by keys and stand side by side, up to where they part', async () => {
  await openRun('nightly-41', '48 rollouts', '?step=7');
  for (const key of ['j', 'x', 'j', 'j', 'x', 'c']) await page.keyboard.press(key);
  await page.waitForURL(/\/compare\?a=.+&b=.+/);
  await page.getByRole('heading', { level: 1, name: /calls? in common, \d+ and \d+ in all$/ }).waitFor();
  await page.goto(`${site.url}${twoOfOneItem}`);
  await page.getByRole('heading', { level: 1, name: '0.95 and 0.52: 1 call in common, 2 and 5' }).waitFor();
  expect(await page.locator('.pair.same').count()).toBe(1);
  await page.getByText('From here they go different ways.').waitFor();
  const text = await page.locator('main').innerText();
  for (const words of ['nothing was taken off', 'src/random.ts\nmissing', 'src/wait.ts\nnot asked for'])
    expect(text).toContain(words);
  await page.getByRole('link', { name: leftRollout.slice(-21) }).click();
  await page.getByRole('link', { name: 'Compare with the best other copy' }).waitFor();
});

test('a rollout and itself have no place where they part', async () => {
  await page.goto(`${site.url}/runs/nightly-41/compare?a=${leftRollout}&b=${leftRollout}`);
  await page.getByRole('heading', { level: 1, name: '2 calls in common, 2 and 2 in all' }).waitFor();
  expect(await page.getByText('different ways').count()).toBe(0);
});

test('the fleet page has a history that does not begin with the page', async () => {
  const other = await openPage(browser, site.url);
  await other.page.goto(`${site.url}/fleet`);
  await other.page.getByRole('img', { name: /^Sandboxes: 12 in use, 4 ready, 4 starting/ }).waitFor();
  await other.page.getByRole('button', { name: '24 h' }).click();
  await other.page.getByRole('img', { name: /^Waiting rollouts: 2 waiting/ }).waitFor();
  await other.context.close();
});

test('a run without rollouts and a filter without a match say so', async () => {
  await page.goto(`${site.url}/runs/empty`);
  await page.getByText('have no rollout of this run').waitFor();
  await openRun('nightly-41', '0 rollouts', '?step=99');
  await page.getByRole('button', { name: 'Show all 384' }).click();
  await page.getByRole('status').filter({ hasText: '384 rollouts' }).waitFor();
});

const screens = {
  runs: '/',
  run: '/runs/nightly-41',
  rollout: `/runs/nightly-41/rollouts/${leftRollout}`,
  discarded: '/runs/nightly-41/rollouts/nightly-41-s1-linear-backoff-4',
  compare: twoOfOneItem,
  fleet: '/fleet',
} as const;
const views = [1440, 390].flatMap((width) =>
  (['light', 'dark'] as const).map((scheme): View => ({ width, scheme })),
);

describe.each(views)('at $width pixels in $scheme', (view) => {
  let tab: Opened;
  beforeAll(async () => {
    tab = await openPage(browser, site.url, view);
  });
  afterAll(() => tab.context.close());

  test.each(Object.entries(screens))(
    'axe finds nothing in %s, which never scrolls sideways',
    async (name, path) => {
      await tab.page.goto(`${site.url}${path}`);
      await tab.page.getByRole('heading', { level: 1 }).waitFor();
      await tab.page.getByText(/^Reading /).waitFor({ state: 'detached' });
      await picture(tab.page, `${name}-${view.width}-${view.scheme}`);
      expect(await axeViolations(tab.page)).toEqual([]);
      expect(
        await numberIn(tab.page, 'document.documentElement.scrollWidth - innerWidth'),
      ).toBeLessThanOrEqual(0);
    },
  );
});

test('axe finds nothing in the log-in', async () => {
  const context = await browser.newContext({ colorScheme: 'dark' });
  const tab = await context.newPage();
  await tab.goto(site.url);
  await tab.getByRole('button', { name: 'Log in' }).waitFor();
  expect(await axeViolations(tab)).toEqual([]);
  await picture(tab, 'login');
  await context.close();
});

describe('a hostile run', () => {
  const order = String.raw`/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/`;
  test.each([
    '/runs/hostile',
    '/runs/hostile/rollouts/hostile-2',
    '/runs/hostile/rollouts/hostile-1',
    '/runs/hostile/compare?a=hostile-2&b=' + encodeURIComponent(`"><img/src=x/onerror=window.hit=1>`),
    '/runs/hostile/rollouts/' + encodeURIComponent(`"><img/src=x/onerror=window.hit=1>`),
  ])('is text: no element, dialog, request or order of it in %s', async (path) => {
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${site.url}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByText(/^Reading /).waitFor({ state: 'detached' });
      for (const all of await page.getByRole('button', { name: /^Show all/ }).all()) await all.click();
      expect(
        await numberIn(
          page,
          "document.querySelectorAll('img, iframe, object, embed, body script, a[href^=http], a[href^=javascript]').length",
        ),
      ).toBe(0);
      expect(await page.evaluate('String(window.hit)')).toBe('undefined');
      expect(await page.evaluate(`${order}.test(document.body.textContent)`)).toBe(false);
      expect(await numberIn(page, 'document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(
        0,
      );
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    expect(await page.locator('main').textContent()).toContain(hostileText.slice(0, 30));
  });

  test('scripts of text are forbidden also to the page itself', async () => {
    const attempt = `(() => { try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); return 'allowed'; } catch (error) { return error.name; } })()`;
    expect(await page.evaluate(attempt)).toBe('TypeError');
  });
});

test('the page asks no other host, and no script of it failed', () => {
  expect([...opened.hosts]).toEqual([new URL(site.url).host]);
  expect(opened.troubles).toEqual([]);
});

describe('budgets', () => {
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
    await openRun('many', '10,000 rollouts');
    expect(await rowsShown()).toBeLessThan(40);
    const answer = await page.evaluate(`fetch('/api/runs/many').then((a) => a.text())`);
    expect(gzipSync(String(answer)).length).toBeLessThan(350_000);
  });

  test('a key press rebuilds at most the rows of the screen and no chart, and neither does a scroll', async () => {
    await openRun('many', '10,000 rollouts');
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
