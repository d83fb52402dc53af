import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/* The content policy forbids browsers to make scripts, elements or links of text; here the source has no way to try. */

const forbidden = [
  /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment/,
  /\beval\(|\bFunction\(|document\.write|setTimeout\(['"`]/,
  /localStorage|sessionStorage|indexedDB|document\.cookie/,
  /\btarget=|\bsrc=|window\.open|location\.(?:href|assign|replace)/,
];
/** Links are made of parts that are escaped one by one, in `linkTo`; a download's address is made alike. */
const ownAddresses = ['href={`${path}/download${asked}`} download>'];

const folder = join(import.meta.dirname, '../../console');
const files = globSync('**/*.{ts,tsx}', { cwd: folder }).filter((file) => !file.endsWith('.test.ts'));
const sources = files.map((file) => [file, readFileSync(join(folder, file), 'utf8')] as const);

test.each(forbidden)('no file of the page has %s', (pattern) => {
  expect(sources.filter(([, text]) => pattern.test(text)).map(([file]) => file)).toEqual([]);
});

test('no link is made of text', () => {
  const links = sources.flatMap(([, text]) => text.match(/\bhref=[^\n]{0,80}/g) ?? []);
  expect(links.map((link) => link.trim())).toEqual(ownAddresses);
});
