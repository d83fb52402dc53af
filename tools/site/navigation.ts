import { type Page, repository } from './pages.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { targetOf } from './links.ts';

export type Entry = { readonly text: string; readonly link: string };
export type Group = { readonly text: string; readonly items: (Entry | Group)[] };

const index = 'docs/README.md';

/** The navigation of the site: the headings and lists of docs/README.md, so that there is one order of pages. */
export function navigationOf(pages: readonly Page[], text = readFileSync(join(repository, index), 'utf8')) {
  const groups: Group[] = [];
  for (const line of text.split('\n')) {
    const [, level, title] = /^(##+) (.+)$/.exec(line) ?? [];
    if (level !== undefined && title !== undefined) open(groups, level.length, title);
    const entry = entryOf(line, pages);
    if (entry !== null) innermost(groups)?.items.push(entry);
  }
  return groups;
}

function open(groups: Group[], level: number, text: string): void {
  const parent = level === 2 ? undefined : groups.at(-1);
  (parent?.items ?? groups).push({ text, items: [] });
}

function innermost(groups: readonly Group[]): Group | undefined {
  const last = groups.at(-1);
  const inner = last?.items.at(-1);
  return inner !== undefined && 'items' in inner ? inner : last;
}

function entryOf(line: string, pages: readonly Page[]): Entry | null {
  const [, text, href] = /^- \[([^\]]+)\]\(([^)]+)\)/.exec(line) ?? [];
  if (text === undefined || href === undefined) return null;
  const target = targetOf(href, index, { pages, repositoryUrl: null });
  return target.kind === 'page' ? { text, link: target.href.replace('.md', '') } : null;
}
