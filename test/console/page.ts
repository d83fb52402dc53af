import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { playedKey } from './played-gateway.ts';

export type View = { readonly width: number; readonly scheme: 'light' | 'dark' };

/** Debian's Chromium. */
export const startChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });

export type Opened = {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Hosts that anything was asked of. */
  readonly hosts: ReadonlySet<string>;
  /** Errors of scripts, and dialogs. */
  readonly troubles: readonly string[];
};

/** A tab that is logged in. */
export async function openPage(
  browser: Browser,
  url: string,
  { width, scheme }: View = { width: 1440, scheme: 'light' },
): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  const hosts = new Set<string>();
  const troubles: string[] = [];
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('dialog', (dialog) => {
    troubles.push('dialog');
    void dialog.dismiss();
  });
  await page.goto(url);
  await page.getByLabel('API key').fill(playedKey);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('navigation', { name: 'Sections' }).waitFor();
  return { context, page, hosts, troubles };
}

const Violations = Type.Array(Type.Object({ id: Type.String(), nodes: Type.Array(Type.String()) }));

/** What axe finds in the page; scripts of a test pass the content policy by the browser's own door. */
export async function axeViolations(page: Page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(
    `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + ' ' + failureSummary) })))`,
  );
  return Value.Parse(Violations, found);
}

export async function numberIn(page: Page, expression: string): Promise<number> {
  return Value.Parse(Type.Number(), await page.evaluate(expression));
}

const repository = join(import.meta.dirname, '../..');
const pictures = join(repository, 'out/console');

/** Pictures that docs/console.md shows, written if asked for: other runs leave the working tree as it is. */
const documented: ReadonlyMap<string, string> = new Map([
  ['run-1440-light', 'run'],
  ['rollout-1440-light', 'rollout'],
  ['compare-1440-light', 'compare'],
]);

/** For docs/console.md and for eyes; not compared. */
export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(pictures, { recursive: true });
  const image = await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  const shown = documented.get(name);
  if (shown === undefined || process.env['CORRAL_DOC_PICTURES'] !== '1') return;
  await writeFile(join(repository, 'docs/console', `${shown}.png`), image);
}
