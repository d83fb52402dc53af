import { posix } from 'node:path';
import type { Inquiry } from './inquiry.ts';

export type Snippet = { readonly path: string; readonly from: number; readonly text: string };

/** `== lib/errors.js 31-60`, then the lines. */
export const snippetsIn = (output: string): readonly Snippet[] =>
  output
    .split(/^== /m)
    .slice(1)
    .map((part) => {
      const [head = '', ...lines] = part.split('\n');
      const [path = '', range = ''] = head.split(' ');
      return { path, from: Number.parseInt(range, 10), text: lines.join('\n') };
    });

/** What snippets say to a question, as far as it can be read off them. */
export function factsIn({ about, subject }: Inquiry, snippets: readonly Snippet[]): readonly string[] {
  const found = snippets.flatMap((snippet) => readers[about](snippet, subject));
  const facts = [...new Set(found)];
  return about === 'fields' || about === 'methods' || about === 'default' ? facts.slice(0, 12) : facts;
}

type Reader = (snippet: Snippet, subject: string) => readonly string[];

const all = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].flatMap(([, found]) => found ?? []);

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** What stands before a place in a text, at most so much. */
const before = (text: string, place: number, length: number): string =>
  text.slice(Math.max(0, place - length), place);

const defaultOf: Reader = ({ text }, name) => {
  const place = text.search(new RegExp(String.raw`^\s*(?:readonly )?${escaped(name)}\??:`, 'm'));
  if (place < 0) return [];
  const value = all(before(text, place, 600), /@default(?:Value)?\s+([^\n*]+)/g).at(-1);
  return value === undefined ? [] : [value.replaceAll(/[`'";]/g, '').trim()];
};

const fieldsOf: Reader = ({ text }, name) => {
  const start = new RegExp(String.raw`^(\s*)(?:export )?interface ${escaped(name)} \{`, 'm').exec(text);
  if (start === null) return [];
  const inside = text.slice(start.index + start[0].length);
  const end = inside.search(/^\s*\}/m);
  return all(end < 0 ? inside : inside.slice(0, end), /^\s+(?:readonly )?(\w+)\??[:(]/gm);
};

/** Types end a method with what it returns and a semicolon; source would have its body. */
const methodsOf: Reader = ({ path, text }, name) => {
  if (!/\.d\.[mc]?ts$/.test(path)) return [];
  const start = new RegExp(
    String.raw`^(\s*)(?:export |default |declare |abstract )*class ${escaped(name)}\b.*\{`,
    'm',
  ).exec(text);
  if (start === null) return [];
  const inside = text.slice(start.index + start[0].length);
  const end = inside.search(new RegExp(String.raw`^${start[1]}\}`, 'm'));
  const found = all(
    end < 0 ? inside : inside.slice(0, end),
    /^\s+(?:static |abstract |async )*(\w+)\??(?:<[^(]*>)?\s?\(/gm,
  );
  return found.filter((each) => each !== 'constructor');
};

const importsOf: Reader = ({ path, text }, subject) =>
  path === subject
    ? all(text, /(?:require\(|from |import )\s*['"](\.[^'"]+)['"]/g).map((to) => pathOf(path, to))
    : [];

function pathOf(from: string, to: string): string {
  const path = posix.join(posix.dirname(from), to);
  return /\.\w+$/.test(path) ? path : `${path}${posix.extname(from)}`;
}

const exportsOf: Reader = ({ path, text }, subject) => {
  if (path !== subject) return [];
  const list = /module\.exports = \{([^}]*)/.exec(text)?.[1] ?? '';
  const names = list.split(',').map((each) => each.split(':')[0]?.trim() ?? '');
  return [
    ...names.filter((name) => /^\w+$/.test(name)),
    ...all(text, /^export (?:async )?(?:function\*?|class|const|let) (\w+)/gm),
  ];
};

const readers: Readonly<Record<Inquiry['about'], Reader>> = {
  default: defaultOf,
  error: ({ text }, message) => {
    const place = text.indexOf(message);
    const code = place < 0 ? undefined : all(before(text, place, 200), /'([A-Z_]{4,})'/g).at(-1);
    return code === undefined ? [] : [code];
  },
  'error class': ({ text }, code) => {
    const place = text.indexOf(`'${code}'`);
    const name = place < 0 ? undefined : all(before(text, place, 500), /class (\w+)/g).at(-1);
    return name === undefined ? [] : [name];
  },
  callers: ({ path, text }, name) =>
    new RegExp(String.raw`(?<![\w.$]|function |function\* )${escaped(name)}\(`).test(text) ? [path] : [],
  raisers: ({ path, text }, code) =>
    !path.endsWith('errors.js') && path.endsWith('.js') && text.includes(code) ? [path] : [],
  history: ({ text }, title) => {
    const place = text.replaceAll('`', '').indexOf(title);
    const version =
      place < 0 ? undefined : all(text.replaceAll('`', '').slice(place), /^added: (v[\d.]+)/gm)[0];
    return version === undefined ? [] : [version];
  },
  importers: (snippet, target) => (importsOf(snippet, snippet.path).includes(target) ? [snippet.path] : []),
  imports: importsOf,
  exports: exportsOf,
  events: ({ path, text }, subject) => (path === subject ? all(text, /\.emit\(\s*['"]([^'"]+)['"]/g) : []),
  subclasses: ({ text }, base) =>
    all(text, new RegExp(String.raw`class (\w+) extends ${escaped(base)}\b`, 'g')),
  fields: fieldsOf,
  methods: methodsOf,
};
