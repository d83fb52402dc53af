/* What a deck may be made of. Whatever could load, run, or draw what is not text of the page is not on these lists. */

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

const elements = new Set(
  words(`html head meta title style body section div span h1 h2 h3 h4 p ul ol li dl dt dd code pre strong em b i small br hr
header footer main article aside table thead tbody tr th td blockquote figure figcaption`),
);

/** Names of attributes and properties, for the page to compare with. */
export const allowed = {
  attributes: words('class id style lang charset name content colspan rowspan'),
  properties: [
    ...words(
      'align background-color border box-shadow box-sizing color column-gap display flex font gap grid',
    ),
    ...words(
      'height inset bottom left right top justify letter-spacing line-height list-style margin max min overflow',
    ),
    ...words(
      'order overflow-wrap padding place position row-gap table-layout text-align text-decoration text-transform',
    ),
    ...words(
      'text-wrap vertical-align white-space width word-break word-spacing z-index hyphens caption-side',
    ),
  ],
  /** Beginnings of properties that are not, though a shorter name above is. */
  refused: words(
    'border-image list-style-image font-feature font-variation font-palette text-decoration-skip',
  ),
  pseudo: words(
    'root first-child last-child nth-child first-of-type last-of-type nth-of-type not only-child',
  ),
  displays: words(
    `none block inline inline-block flex inline-flex grid inline-grid list-item table table-row table-cell table-row-group
table-header-group table-footer-group table-caption table-column table-column-group inline-table flow-root`,
  ),
  positions: words('static relative absolute'),
} as const;

export const most = { bytes: 64 * 1024, slides: 12, words: 2_000, elements: 3_000 } as const;

/** Names of what is refused before a browser reads it: no element comes into being without its name after a `<`. */
export function refusedSource(html: string): readonly string[] {
  if (html.trim() === '') return ['no deck'];
  if (Buffer.byteLength(html) > most.bytes) return ['more than 64 KiB'];
  // Characters that are invisible, or that reverse the direction of a text.
  if (/[\p{Cf}\p{Co}\p{Cs}]/u.test(html)) return ['invisible characters'];
  const names = [...html.matchAll(/<([a-z][^\s/>]*)/gi)].map(([, name = '']) => name.toLowerCase());
  const others = new Set(names.filter((name) => !elements.has(name)));
  return [...others].slice(0, 8).map((name) => `element ${name.slice(0, 40)}`);
}
