import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const repository = join(import.meta.dirname, '../..');

/** A page of the site: where its Markdown is in the repository, and its own address without an extension. */
export type Page = { readonly source: string; readonly address: string };

/** Pages outside of docs that the site has as well; links to other files lead to the repository. */
const outside =
  /^(?:CHANGELOG|SECURITY|charts\/corral\/README|gallery\/[^/]+\/README|services\/sandboxd\/README|src\/README|src\/adapters\/redis\/KEYS)\.md$/;

const isPage = (path: string): boolean =>
  path.endsWith('.md') && (path.startsWith('docs/') || outside.test(path));

export const trackedFiles = (): readonly string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(repository, file)));

export const pagesOf = (files: readonly string[]): readonly Page[] =>
  files.filter(isPage).map((source) => ({ source, address: addressOf(source) }));

/** `docs/` is the root of the site; a README is the page of its folder. */
function addressOf(source: string): string {
  const path = source.replace(/^docs\//, '').replace(/\.md$/, '');
  if (path === 'README') return 'index';
  return path === source.replace(/\.md$/, '') ? path.replace(/\/README$/, '').toLowerCase() : path;
}
