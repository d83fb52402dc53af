import { dirname, normalize } from 'node:path';
import type { Page } from './pages.ts';

/** What a link of a page becomes: an address of the site, an address elsewhere, or text without a link. */
export type Target =
  | { readonly kind: 'page' | 'file' | 'elsewhere'; readonly href: string }
  | { readonly kind: 'text' };

export type Site = {
  readonly pages: readonly Page[];
  /** Where the repository is on a code host, for links to its files; without one they are text. */
  readonly repositoryUrl: string | null;
};

const isElsewhere = (href: string): boolean => /^[a-z][a-z+.-]*:/i.test(href);
const isImage = (path: string): boolean => /\.(?:svg|png)$/.test(path);

export function targetOf(href: string, source: string, site: Site): Target {
  if (isElsewhere(href)) return { kind: 'elsewhere', href };
  const [path = '', heading] = href.split('#');
  const anchor = heading === undefined ? '' : `#${heading}`;
  if (path === '') return { kind: 'page', href: anchor };
  const file = normalize(`${dirname(source)}/${path}`).replace(/\/$/, '');
  const page = site.pages.find((one) => one.source === file);
  if (page !== undefined) return { kind: 'page', href: `/${page.address}.md${anchor}` };
  if (isImage(file)) return { kind: 'file', href: `/${imageAddressOf(file)}` };
  return site.repositoryUrl === null
    ? { kind: 'text' }
    : { kind: 'elsewhere', href: `${site.repositoryUrl.replace(/\/$/, '')}/${file}${anchor}` };
}

/** Where the site has an image of the repository. */
export const imageAddressOf = (file: string): string => file.replace(/^docs\//, '');
