import { afterAll, beforeAll, expect, test } from 'vitest';
import { madeMany, madeRun } from './made-runs.ts';
import { leftRollout, type MadeSite, openMadeSite, table, twoOfOneItem } from './made-site.ts';
import { axeViolations, openPage } from './page.ts';
import { playedKey } from './played-gateway.ts';

/* Keys, searches, and what a page does by itself while someone reads. */

/** Its outputs are kept. */
const readRollout = 'nightly-41-s6-message-suffix-7';
/** Four lines a rollout. */
const growing = madeMany('growing', 120);
const runs = new Map([
  ['nightly-41', madeRun('nightly-41')],
  ['growing', growing.slice(0, 4 * 100)],
]);

let made: MadeSite;
let site: MadeSite['site'];
let page: MadeSite['page'];
beforeAll(async () => {
  made = await openMadeSite(runs, [
    { run: 'nightly-41', rollout: readRollout, outputs: ['', '', `${'x\n'.repeat(300)}the needle`] },
  ]);
  ({ site, page } = made);
});
afterAll(() => made.stop());

test('keys move, open, search and change the section, and none acts in a field', async () => {
  await made.openRun('nightly-41', '384 rollouts');
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

test('e changes how much of outputs is shown, and a search shows the calls that returned the text', async () => {
  await page.goto(`${site.url}/runs/nightly-41/rollouts/${readRollout}`);
  const isShown = (choice: string) =>
    page.getByRole('button', { name: choice, exact: true, pressed: true }).waitFor();
  await isShown('some');
  for (const choice of ['all', 'none', 'some']) {
    await page.keyboard.press('e');
    await isShown(choice);
  }
  const all = await page.locator('.call').count();
  await page.keyboard.press('/');
  await page.keyboard.type('the NEEDLE');
  await page
    .getByRole('status')
    .filter({ hasText: `1 of ${all} calls` })
    .waitFor();
  expect(await page.locator('.call').getAttribute('id')).toBe('call-3');
  await page.keyboard.press('Escape');
  expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY');
  expect(await page.getByRole('searchbox').inputValue()).toBe('the NEEDLE');
});

test('a run is searched in outputs, too, and the address keeps that', async () => {
  await made.openRun('nightly-41', '0 rollouts', '?text=the+needle');
  await page.getByRole('checkbox', { name: 'outputs, too' }).check();
  await page
    .getByRole('status')
    .filter({ hasText: /^1 rollout$/ })
    .waitFor();
  await page.getByText('Outputs of 1 rollout are kept and were searched.').waitFor();
  expect(new URL(page.url()).searchParams.get('outputs')).toBe('true');
  await table(page)
    .getByRole('link', { name: readRollout.slice(-21) })
    .waitFor();
});

test('a run has a dot for each rollout that is over, a discard below the others, and what follows what', async () => {
  await made.openRun('nightly-41', '384 rollouts');
  await page
    .getByRole('img', { name: 'Reward by calls of 380 scored rollouts, and 4 discarded below' })
    .waitFor();
  const isDrawn = `document.querySelector('canvas').getContext('2d').getImageData(0, 0, 1120, 520).data.some((byte) => byte > 0)`;
  expect(await page.evaluate(isDrawn)).toBe(true);
  const follows = page.getByRole('region', { name: 'What follows what' });
  await follows.getByRole('row', { name: /^ls 0 84 / }).waitFor();
});

test('rollouts that come while someone reads the table wait until they are asked for', async () => {
  await made.openRun('growing', '100 rollouts');
  await table(page).hover();
  await page.mouse.wheel(0, 1_020);
  const row = page.locator('.row[aria-rowindex="35"]');
  const before = await row.textContent();
  runs.set('growing', growing);
  await page.getByRole('button', { name: 'Show 20 new' }).waitFor();
  expect(await row.textContent()).toBe(before);
  await page.getByRole('button', { name: 'Show 20 new' }).click();
  await page.getByRole('status').filter({ hasText: '120 rollouts' }).waitFor();
  expect(await row.textContent()).not.toBe(before);
});

test('a page whose session is over stays readable, and logs in at the same address', async () => {
  const other = await openPage(made.browser, site.url);
  await other.page.goto(`${site.url}/fleet`);
  await other.page.getByRole('img', { name: /^Sandboxes: / }).waitFor();
  await other.context.clearCookies();
  await other.page.getByRole('alert').getByText('your session has ended').first().waitFor();
  expect(await other.page.getByRole('heading', { level: 1, name: 'Fleet' }).isVisible()).toBe(true);
  await other.page.getByRole('button', { name: 'Log in' }).first().click();
  await other.page.getByLabel('API key').fill(playedKey);
  await other.page.getByRole('button', { name: 'Log in' }).click();
  await other.page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
  await other.context.close();
});

test('? shows the keys on every page, Esc closes them, and no other key acts meanwhile', async () => {
  await page.goto(`${site.url}/fleet`);
  await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
  await page.keyboard.press('?');
  const list = page.getByRole('dialog', { name: 'Keys' });
  await list.getByText('outputs of a rollout: none, some, all').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  for (const key of ['g', 'r']) await page.keyboard.press(key);
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'hidden' });
  expect(new URL(page.url()).pathname).toBe('/fleet');
});

test('two rollouts are chosen by keys and stand side by side, up to where they part', async () => {
  await made.openRun('nightly-41', '48 rollouts', '?step=7');
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
