/** A question about a package, as somebody reads it who knows what to look for in source. */
export type Inquiry = {
  readonly about:
    | 'default'
    | 'error'
    | 'error class'
    | 'callers'
    | 'raisers'
    | 'history'
    | 'importers'
    | 'imports'
    | 'exports'
    | 'events'
    | 'subclasses'
    | 'fields'
    | 'methods';
  /** The name, path or message in it. */
  readonly subject: string;
  readonly words: readonly string[];
  /** What to search for, the likeliest first. */
  readonly queries: readonly string[];
  /** Whether the subject is a file that has it all. */
  readonly readsFile: boolean;
  /** Whether one fact is the answer. */
  readonly wantsOne: boolean;
};

type Way = {
  readonly about: Inquiry['about'];
  readonly says: RegExp;
  readonly queries: (subject: string) => readonly string[];
  readonly readsFile?: boolean;
  readonly wantsOne?: boolean;
};

const baseOf = (path: string): string =>
  (path.endsWith('/index.js') ? path.slice(0, -'/index.js'.length) : path)
    .split('/')
    .at(-1)
    ?.replace(/\.\w+$/, '') ?? path;

const ways: readonly Way[] = [
  {
    about: 'default',
    says: /default of the option `(?<it>[^`]+)`/,
    queries: (it) => [`@default ${it}`, `@defaultValue ${it}?`],
    wantsOne: true,
  },
  {
    about: 'error',
    says: /comes with the message "(?<it>.+)"\?/,
    queries: (it) => [it, `createError ${it}`],
    wantsOne: true,
  },
  {
    about: 'error class',
    says: /has the error code (?<it>\w+)/,
    queries: (it) => [`${it} code class extends Error`, it],
    wantsOne: true,
  },
  {
    about: 'callers',
    says: /call the function `(?<it>[^`]+)`/,
    queries: (it) => [it, `await ${it}`, `return ${it}`, `const ${it} require`],
  },
  {
    about: 'raisers',
    says: /use the error code (?<it>\w+)/,
    queries: (it) => [it, `throw new ${it}`, `const ${it} require errors`],
  },
  {
    about: 'history',
    says: /had "(?<it>.+)" \(documented/,
    queries: (it) => [`added ${it}`, it],
    wantsOne: true,
  },
  {
    about: 'importers',
    says: /import or require `(?<it>[^`]+)`/,
    queries: (it) => [`require ${baseOf(it)}`, `import from ${baseOf(it)}`, `const ${baseOf(it)} require`],
  },
  {
    about: 'imports',
    says: /does `(?<it>[^`]+)` of .+ import or require/,
    queries: (it) => [`${it} require import`],
    readsFile: true,
  },
  {
    about: 'exports',
    says: /names does `(?<it>[^`]+)` .+ export/,
    queries: (it) => [`${it} module exports`],
    readsFile: true,
  },
  {
    about: 'events',
    says: /code in `(?<it>[^`]+)` .+ emit/,
    queries: (it) => [`${it} emit`],
    readsFile: true,
  },
  {
    about: 'subclasses',
    says: /extend `(?<it>[^`]+)` directly/,
    queries: (it) => [`class extends ${it}`, `extends ${it} constructor super`],
  },
  {
    about: 'fields',
    says: /interface `(?<it>[^`]+)`/,
    queries: (it) => [`interface ${it}`, it],
    wantsOne: true,
  },
  {
    about: 'methods',
    says: /declare in the class `(?<it>[^`]+)`/,
    queries: (it) => [`declare class ${it}`, `export class ${it} constructor`],
    wantsOne: true,
  },
];

export function readInquiry(question: string): Inquiry {
  for (const { about, says, queries, readsFile = false, wantsOne = false } of ways) {
    const subject = says.exec(question)?.groups?.['it'];
    if (subject === undefined) continue;
    const words = subject.match(/[\w$@]+/g) ?? [subject];
    return { about, subject, words, queries: queries(subject), readsFile, wantsOne };
  }
  const words = question.match(/[\w$]{4,}/g) ?? [question];
  return {
    about: 'callers',
    subject: words.join(' '),
    words,
    queries: [question],
    readsFile: false,
    wantsOne: true,
  };
}
