import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import type { Page } from './pages.ts';
import { differenceOf, textOfHtml, textOfMarkdown } from './text.ts';

/** A built page with its whole HTML. */
export type Built = { readonly page: Page; readonly markdown: string; readonly html: string };

export async function readBuilt(pages: readonly Page[], sources: string, output: string) {
  return Promise.all(
    pages.map(async (page) => ({
      page,
      markdown: await readFile(join(sources, `${page.address}.md`), 'utf8'),
      html: await readFile(join(output, `${page.address}.html`), 'utf8'),
    })),
  );
}

/** What is wrong with a built site, one line each. */
export function faultsOf(built: readonly Built[], output: string, base: string): readonly string[] {
  return built.flatMap((one) => [...textFaults(one), ...linkFaults(one, built, output, base)]);
}

const start = /<div[^>]*class="vp-doc[^"]*"[^>]*>/;

/** The content of a page: what VitePress puts between the start of the document and its footer. */
export function contentOf(html: string): string {
  const [whole = ''] = start.exec(html) ?? [];
  const content = html.slice(html.indexOf(whole) + whole.length);
  return content.split(/<\/main>/)[0] ?? '';
}

function textFaults({ page, markdown, html }: Built): readonly string[] {
  const difference = differenceOf(textOfMarkdown(markdown), textOfHtml(contentOf(html)));
  return difference === null ? [] : [`${page.source}: ${difference}`];
}

function linkFaults({ page, html }: Built, built: readonly Built[], output: string, base: string) {
  const links = [...contentOf(html).matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => match[1] ?? '');
  const own = links.filter((link) => !/^[a-z]+:/.test(link));
  return own.flatMap((link) => {
    const reason = reasonOf(link, page, built, output, base);
    return reason === null ? [] : [`${page.source}: the link ${link} is dead: ${reason}`];
  });
}

/** Why a link leads nowhere, or null. */
function reasonOf(link: string, from: Page, built: readonly Built[], output: string, base: string) {
  const [path = '', heading] = link.split('#');
  const file = path === '' ? `${from.address}.html` : fileOf(path, from, base);
  if (file === null || !existsSync(join(output, file))) return `no file ${file ?? path}`;
  if (heading === undefined) return null;
  const target = built.find(({ page }) => `${page.address}.html` === file);
  return target?.html.includes(`id="${decodeURIComponent(heading)}"`) ? null : `${file} has no such heading`;
}

function fileOf(path: string, from: Page, base: string): string | null {
  if (!path.startsWith('/')) return normalize(join(dirname(from.address), path));
  if (!path.startsWith(base)) return null;
  const file = path.slice(base.length);
  return file === '' || file.endsWith('/') ? `${file}index.html` : file;
}
