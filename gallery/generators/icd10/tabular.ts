/** One entry of ICD-10-CM: a chapter, a section, a category or a code. Whoever has no children is a code that is billed. */
export type Entry = {
  /** `E11.9`; a chapter's number, a section's range. */
  readonly code: string;
  readonly title: string;
  readonly parent: Entry | null;
  readonly children: readonly Entry[];
  /** Words that mean this code too. */
  readonly terms: readonly string[];
  /** What is excluded, coded first or coded besides, a line each. */
  readonly notes: readonly string[];
  /** What a seventh character says; null for codes without one. */
  readonly encounter: string | null;
};

const openedEntries = new Set(['chapter', 'section', 'diag']);
const termLists = new Set(['inclusionTerm', 'includes']);
const noteLists: Readonly<Record<string, string>> = {
  excludes1: 'not coded here',
  excludes2: 'not included here',
  useAdditionalCode: 'use additional code',
  codeFirst: 'code first',
  codeAlso: 'code also',
};

/**
 * Reads the tabular list as its XML has it, which is one tag or one text after the other, and adds the codes that seventh
 * characters make of its leaves, as far as `confirmed`, the list of all codes, has them. Returns every entry, in order.
 */
export function readTabular(xml: string, confirmed: ReadonlySet<string>): readonly Entry[] {
  const roots: Draft[] = [];
  const path: string[] = [];
  let current: Draft | null = null;
  let text = '';
  let extension = '';
  for (const { open, name, attributes, before } of tagsOf(xml)) {
    text += before;
    if (open && openedEntries.has(name)) current = begin(current, attributes['id'] ?? '', roots);
    if (open && name === 'extension') extension = attributes['char'] ?? '';
    if (open) path.push(name);
    else if (current !== null) {
      path.pop();
      take(current, name, path.at(-1) ?? '', textOf(text), extension);
      if (openedEntries.has(name)) current = current.parent;
    }
    text = '';
  }
  return roots.flatMap((root) => completed(root, confirmed));
}

type Tag = {
  readonly open: boolean;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The text between the tag before and this one. */
  readonly before: string;
};

/** By hand: it is 10 MB, and an expression over it would hold every tag at once. */
function* tagsOf(xml: string): Generator<Tag> {
  let from = 0;
  for (;;) {
    const start = xml.indexOf('<', from);
    const end = xml.indexOf('>', start);
    if (start < 0 || end < 0) return;
    const inside = xml.slice(start + 1, end);
    const before = xml.slice(from, start);
    from = end + 1;
    if (inside.startsWith('?') || inside.startsWith('!')) continue;
    const [name = '', ...rest] = inside.replace(/^\//, '').replace(/\/$/, '').split(' ');
    const attributes = attributesIn(rest.join(' '));
    yield { open: !inside.startsWith('/'), name, attributes, before };
    if (inside.endsWith('/')) yield { open: false, name, attributes, before: '' };
  }
}

const attributesIn = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const textOf = (text: string): string =>
  text
    .replaceAll(/&(amp|lt|gt|quot|apos);/g, (_all, name: string) => entities[name] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** An entry that is still being read. */
type Draft = {
  code: string;
  title: string;
  readonly parent: Draft | null;
  readonly children: Draft[];
  readonly terms: string[];
  readonly notes: string[];
  readonly extensions: Map<string, string>;
  readonly encounter: string | null;
};

const blank = (parent: Draft | null, code: string, title = '', encounter: string | null = null): Draft => ({
  code,
  title,
  parent,
  encounter,
  children: [],
  terms: [],
  notes: [],
  extensions: new Map<string, string>(),
});

function begin(parent: Draft | null, code: string, roots: Draft[]): Draft {
  const draft = blank(parent, code);
  (parent?.children ?? roots).push(draft);
  return draft;
}

/** What an element that ends here says of the entry around it. */
function take(entry: Draft, name: string, around: string, text: string, extension: string): void {
  if (text === '') return;
  if (name === 'name') entry.code = text;
  else if (name === 'desc') entry.title = text;
  else if (name === 'extension') entry.extensions.set(extension, text);
  else if (name === 'note' && termLists.has(around)) entry.terms.push(text);
  else if (name === 'note' && around in noteLists) entry.notes.push(`${noteLists[around]}: ${text}`);
}

/** An entry and all below it, its leaves' seventh characters among them. */
function completed(entry: Draft, confirmed: ReadonlySet<string>): readonly Entry[] {
  if (entry.children.length === 0) entry.children.push(...extended(entry, confirmed));
  return [
    entry,
    ...entry.children.flatMap((child) => (child.encounter === null ? completed(child, confirmed) : [child])),
  ];
}

/** `S52.521` and `A` is S52.521A, `T15.00` and `A` is T15.00XA: where no such code is confirmed, special rules exclude it. */
function extended(entry: Draft, confirmed: ReadonlySet<string>): readonly Draft[] {
  const stem = (entry.code.length === 3 ? `${entry.code}.` : entry.code).padEnd(7, 'X');
  return [...extensionsOf(entry)].flatMap(([letter, says]) =>
    confirmed.has(`${stem}${letter}`.replace('.', ''))
      ? [blank(entry, `${stem}${letter}`, `${entry.title}, ${says}`, says)]
      : [],
  );
}

function extensionsOf(entry: Draft | null): ReadonlyMap<string, string> {
  if (entry === null) return new Map();
  return entry.extensions.size > 0 ? entry.extensions : extensionsOf(entry.parent);
}
