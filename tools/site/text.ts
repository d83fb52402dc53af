/*
 * The text of a page, twice: from its Markdown and from the HTML that the site has for it. Both without white space and without the
 * characters that Markdown uses as marks, so the two are equal unless the site evaluated, dropped or added something.
 */

/** What a reader sees of Markdown. */
export function textOfMarkdown(markdown: string): string {
  const parts = markdown.replaceAll(/<!--[^]*?-->/g, '').split(/^ *```(.*)\n/m);
  // Odd parts are the info strings of fences: each opens or closes a block.
  return bare(parts.map((part, index) => partOf(part, index)).join(''));
}

function partOf(part: string, index: number): string {
  if (index % 2 === 1) return '';
  return index % 4 === 2 ? part : proseOf(part);
}

const proseOf = (text: string): string =>
  decoded(
    text
      .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
      .replaceAll(/\]\([^()\s]*(?:\([^()]*\))?[^()\s]*\)/g, ']')
      .replaceAll(/^ *\d+\. /gm, ''),
  );

/** What a reader sees of a page's content, without what the theme puts next to headings and code. */
export function textOfHtml(html: string): string {
  const content = html.replaceAll(/<span class="lang">[^<]*<\/span>/g, '').replaceAll(/<[^>]*>/g, '');
  return bare(decoded(content));
}

const bare = (text: string): string => text.replaceAll(/[\s\u200b`*_|#>~[\]\\:-]/g, '');

const entities: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  nbsp: ' ',
  ZeroWidthSpace: '',
};

const decoded = (text: string): string =>
  text
    .replaceAll(/&#x([0-9a-f]+);/gi, (_, digits: string) => String.fromCodePoint(Number.parseInt(digits, 16)))
    .replaceAll(/&#(\d+);/g, (_, digits: string) => String.fromCodePoint(Number(digits)))
    .replaceAll(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole);

/** Where two texts part, with what is around it in both; null if they are equal. */
export function differenceOf(expected: string, shown: string): string | null {
  if (expected === shown) return null;
  let at = 0;
  while (expected[at] === shown[at]) at += 1;
  const around = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 30), at + 50));
  return `the Markdown has ${around(expected)}, the page shows ${around(shown)}`;
}
