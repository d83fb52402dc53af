import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BuiltSite, buildSite } from '#tools/site/build.ts';
import { installPackages } from '#tools/site/packages.ts';
import { repository } from '#tools/site/pages.ts';
import { startBrowser, type View } from './browser.ts';
import { serveSite } from './serve.ts';

const folder = join(repository, 'out/test-docs');
const pictures = join(repository, 'out/docs-screenshots');
const base = '/corral/';
let site: BuiltSite;
let browser: Awaited<ReturnType<typeof startBrowser>>;
let host: Awaited<ReturnType<typeof serveSite>>;
let url: string;
let axe: string;

beforeAll(async () => {
  installPackages();
  site = await buildSite({ folder, base, repositoryUrl: null });
  axe = await readFile(
    createRequire(join(repository, 'tools/site/package.json')).resolve('axe-core/axe.min.js'),
    'utf8',
  );
  browser = await startBrowser();
  host = await serveSite(site.output, base);
  url = `${host.url}${base}`;
  await mkdir(pictures, { recursive: true });
});
afterAll(async () => {
  await browser.stop();
  await host.stop();
});

test('every page shows the text of its Markdown, and each link leads somewhere', () => {
  expect(site.pages.length).toBeGreaterThan(80);
  expect(site.faults).toEqual([]);
});

test('the first page is at most 200 KB over the network', async () => {
  const bytes = await browser.page.open(url, { width: 1280, scheme: 'light' });
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(200_000);
});

test('no page asks another host for anything', async () => {
  await browser.page.open(url, { width: 1280, scheme: 'light' });
  const names = await browser.page.evaluate(
    'performance.getEntriesByType("resource").map(({ name }) => name)',
    Type.Array(Type.String()),
  );
  expect(names.length).toBeGreaterThan(3);
  expect(names.filter((name) => !name.startsWith(host.url))).toEqual([]);
});

const shown = [
  'index',
  'trainers',
  'environments',
  'failures',
  'commands',
  'clients/python',
  'clients/python-api',
  'demo',
  'operators',
  'nodes',
  'dashboards',
  'runbooks/SandboxesLost',
];
const views: readonly View[] = [
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
  { width: 390, scheme: 'light' },
  { width: 390, scheme: 'dark' },
];

describe.each(views)('at $width px, $scheme', (view) => {
  test.each(shown)(
    'the page %s has no violation that axe finds, and does not scroll sideways',
    async (page) => {
      await browser.page.open(`${url}${page}.html`, view);
      const name = `${page.replaceAll('/', '-')}-${view.width}-${view.scheme}.png`;
      await writeFile(join(pictures, name), await browser.page.screenshot());
      const violations = await browser.page.evaluate(
        `${axe}; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200)))`,
        Type.Array(Type.String()),
      );
      expect(violations).toEqual([]);
      const width = await browser.page.evaluate('document.documentElement.scrollWidth', Type.Number());
      expect(width).toBeLessThanOrEqual(view.width);
    },
  );
});

test('the search finds a failure code on its page', async () => {
  await browser.page.open(url, { width: 1280, scheme: 'light' });
  await browser.page.evaluate('void document.querySelector("#local-search button").click()', Type.Unknown());
  await waitFor('document.activeElement?.id === "localsearch-input"');
  await browser.page.type('sandbox_lost');
  await waitFor('[...document.querySelectorAll("a.result")].some((link) => link.href.includes("failures"))');
});

test('an address that ends in .md, as on a code host, shows the page and its heading', async () => {
  await browser.page.open(`${url}one-machine.md#callers-beyond-this-machine`, {
    width: 1280,
    scheme: 'light',
  });
  await waitFor('location.pathname.endsWith("/one-machine.html") && document.querySelector("h1") !== null');
  const hash = await browser.page.evaluate('location.hash', Type.String());
  expect(hash).toBe('#callers-beyond-this-machine');
});

const waitFor = (condition: string) =>
  expect
    .poll(() => browser.page.evaluate(`Boolean(${condition})`, Type.Boolean()), { timeout: 30_000 })
    .toBe(true);
