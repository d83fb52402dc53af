const variable = 'CORRAL_DOCS';

/**
 * Where a page of docs is: below CORRAL_DOCS, the address of the site or of a code host's folder; without it, as in the
 * repository.
 */
export function docsPage(page: `${string}.md`): string {
  const base = process.env[variable] ?? 'docs';
  return `${base.replace(/\/$/, '')}/${page}`;
}
