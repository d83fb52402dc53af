import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostileText, madeHostile, madeRun } from './made-runs.ts';
import { leftRollout, type MadeSite, openMadeSite, table, twoOfOneItem } from './made-site.ts';
import { axeViolations, numberIn, type Opened, openPage, picture, type View } from './page.ts';

let made: MadeSite;
let site: MadeSite['site'];
let page: MadeSite['page'];
beforeAll(async () => {
  made = await openMadeSite(
    new Map([
      ['nightly-41', madeRun('nightly-41')],
      ['hostile', madeHostile('hostile')],
      ['empty', []],
    ]),
    [{ run: 'hostile', rollout: 'hostile-2', outputs: [hostileText, hostileText.repeat(20), ''] }],
  );
  ({ site, page } = made);
});
afterAll(() => made.stop());

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

test('a rollout tells its reward, its group, the reasons, and that an output is not kept', async () => {
  await page.goto(`${site.url}/runs/nightly-41/rollouts/${leftRollout}`);
  await page.getByText('reward 0.95').waitFor();
  const text = await page.locator('main').innerText();
  for (const words of ['against its group', 'nothing was taken off', 'without a kept output', 'retry-jitter'])
    expect(text).toContain(words);
  // The row's fields, and which of them the policy must not know.
  const item = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: 'Item', exact: true }) });
  expect(await item.locator('dt').filter({ hasText: 'only the grader' }).allInnerTexts()).toEqual([
    'files only the grader',
  ]);
});

test('a rollout and itself have no place where they part', async () => {
  await page.goto(`${site.url}/runs/nightly-41/compare?a=${leftRollout}&b=${leftRollout}`);
  await page.getByRole('heading', { level: 1, name: '2 calls in common, 2 and 2 in all' }).waitFor();
  expect(await page.getByText('different ways').count()).toBe(0);
});

test('the fleet page has a history that does not begin with the page', async () => {
  const other = await openPage(made.browser, site.url);
  await other.page.goto(`${site.url}/fleet`);
  await other.page.getByRole('img', { name: /^Sandboxes: 12 in use, 4 ready, 4 starting/ }).waitFor();
  await other.page.getByRole('button', { name: '24 h' }).click();
  await other.page.getByRole('img', { name: /^Waiting rollouts: 2 waiting/ }).waitFor();
  await other.context.close();
});

test('a run without rollouts and a filter without a match say so', async () => {
  await page.goto(`${site.url}/runs/empty`);
  await page.getByText('have no rollout of this run').waitFor();
  await made.openRun('nightly-41', '0 rollouts', '?step=99');
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
    tab = await openPage(made.browser, site.url, view);
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
  const context = await made.browser.newContext({ colorScheme: 'dark' });
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
  expect([...made.hosts]).toEqual([new URL(site.url).host]);
  expect(made.troubles).toEqual([]);
});
