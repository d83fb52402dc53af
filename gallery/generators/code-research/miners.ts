import { posix } from 'node:path';
import type { Repository, SourceFile } from './repositories.ts';

/** A question and the facts that answer it, each as it stands in the source: nobody has to believe anybody. */
export type Mined = { readonly kind: string; readonly question: string; readonly facts: readonly string[] };

type Miner = (repository: Repository) => readonly Mined[];

/** A list of one is found by whoever finds anything, and more than so many nobody would list. */
const fewest = 2;
const most = 14;
const isList = ({ facts }: Mined): boolean => facts.length >= fewest && facts.length <= most;

const isCode = ({ path }: SourceFile): boolean => /\.(?:js|mjs|cjs|ts|mts|cts)$/.test(path);
const isTypes = ({ path }: SourceFile): boolean => /\.d\.[mc]?ts$/.test(path);
const sources = ({ files }: Repository) => files.filter((file) => isCode(file) && !isTypes(file));

/** What is said in a comment is no code. */
const isComment = (line: string): boolean => /^\s*(?:\*|\/\/|\/\*)/.test(line);
const codeOf = ({ lines }: SourceFile): readonly string[] => lines.filter((line) => !isComment(line));

/** `@default 1024` above `bodyLimit?: number`. */
const defaults: Miner = (repository) =>
  repository.files.filter(isTypes).flatMap(({ lines }) =>
    lines.flatMap((line, index) => {
      const value = /@default(?:Value)?\s+(?<value>.+?)\s*(?:\*\/)?$/.exec(line)?.groups?.['value'];
      const option = optionBelow(lines, index);
      if (value === undefined || option === null) return [];
      const bare = value.replaceAll(/[`'";]/g, '').trim();
      if (bare === '' || bare.length > 40 || bare.includes(' ')) return [];
      const question = `What is the documented default of the option \`${option}\` in ${repository.name}?`;
      return [{ kind: 'default', question, facts: [bare] }];
    }),
  );

function optionBelow(lines: readonly string[], index: number): string | null {
  for (const line of lines.slice(index + 1, index + 8)) {
    const name = /^\s*(?:readonly )?(?<name>[A-Za-z_$][\w$]*)\??:/.exec(line)?.groups?.['name'];
    if (name !== undefined) return name;
    if (!/^\s*\*/.test(line)) return null;
  }
  return null;
}

/** `createError('FST_ERR_NOT_FOUND', 'Not Found', 404)`, over as many lines as it has. */
const createdErrors: Miner = (repository) =>
  sources(repository).flatMap((file) =>
    [
      ...codeOf(file)
        .join('\n')
        .matchAll(/createError\(\s*'(?<code>[A-Z_]+)',\s*(?<quote>['"])(?<says>[^\n]+?)\k<quote>,/g),
    ].map(({ groups = {} }) => ({
      kind: 'error',
      question: `Which error code of ${repository.name} comes with the message "${groups['says']}"?`,
      facts: [groups['code'] ?? ''],
    })),
  );

/** `this.code = 'UND_ERR_ABORTED'` in the class that it stands in. */
const errorClasses: Miner = (repository) =>
  sources(repository).flatMap((file) => {
    let current = '';
    return codeOf(file).flatMap((line) => {
      current = /^class (?<name>\w+) extends/.exec(line)?.groups?.['name'] ?? current;
      const code = /this\.code = '(?<code>[A-Z_]+)'/.exec(line)?.groups?.['code'];
      if (code === undefined || current === '') return [];
      const question = `Which class of ${repository.name} has the error code ${code}?`;
      return [{ kind: 'error', question, facts: [current] }];
    });
  });

/** Who requires whom, by paths that are written out: from a file to those that it requires. */
function requirements(repository: Repository): ReadonlyMap<string, ReadonlySet<string>> {
  const files = sources(repository);
  const known = new Set(files.map(({ path }) => path));
  const paths = /(?:require\(|from |import )\s*['"](?<to>\.{1,2}\/[^'"]+)['"]/g;
  return new Map(
    files.map((file) => {
      const named = codeOf(file).flatMap((line) =>
        [...line.matchAll(paths)].map(({ groups }) => groups?.['to'] ?? ''),
      );
      return [file.path, new Set(named.flatMap((to) => resolved(file.path, to, known) ?? []))];
    }),
  );
}

const importers: Miner = (repository) => {
  const required = [...requirements(repository)];
  const targets = new Set(required.flatMap(([, all]) => [...all]));
  return [...targets].map((target) => ({
    kind: 'importers',
    question: `Which source files of ${repository.name} import or require \`${target}\`? (No type declarations.)`,
    facts: required.flatMap(([path, all]) => (all.has(target) ? [path] : [])).sort(),
  }));
};

const imported: Miner = (repository) =>
  [...requirements(repository)].map(([path, all]) => ({
    kind: 'imports',
    question: `Which files of its own package does \`${path}\` of ${repository.name} import or require?`,
    facts: [...all].sort(),
  }));

/** The fields of an interface that stands in one place and extends nothing. */
const fields: Miner = (repository) =>
  repository.files.filter(isTypes).flatMap(({ lines }) =>
    lines.flatMap((line, index) => {
      const { indent = '', name } =
        /^(?<indent>\s*)(?:export )?interface (?<name>\w+) \{$/.exec(line)?.groups ?? {};
      if (name === undefined) return [];
      const rest = lines.slice(index + 1);
      const inside = rest.slice(
        0,
        rest.findIndex((each) => each.startsWith(`${indent}}`)),
      );
      const own = inside.map((each) => /^(?<in>\s+)(?:readonly )?(?<field>\w+)\??[:(]/.exec(each)?.groups);
      const depth = own.find((each) => each !== undefined)?.['in'];
      const facts = own.flatMap((each) => (each?.['in'] === depth ? (each?.['field'] ?? []) : []));
      const question = `Which members does the interface \`${name}\` of ${repository.name} declare?`;
      return [{ kind: 'fields', question, facts: [...new Set(facts)] }];
    }),
  );

/** What a class declares to be called, as its types say: no constructor, nothing private, nothing that it inherits. */
const methods: Miner = (repository) =>
  repository.files.filter(isTypes).flatMap(({ lines }) =>
    lines.flatMap((line, index) => {
      const { indent = '', name } = classHead.exec(line)?.groups ?? {};
      if (name === undefined) return [];
      const rest = lines.slice(index + 1);
      const inside = rest.slice(
        0,
        rest.findIndex((each) => each.startsWith(`${indent}}`)),
      );
      const own = inside.map((each) => methodHead.exec(each)?.groups);
      const depth = inside.map((each) => /^\s+(?=[\w#[])/.exec(each)?.[0]).find((each) => each !== undefined);
      const facts = own.flatMap((each) => (each?.['in'] === depth ? (each?.['method'] ?? []) : []));
      const question = `Which methods do the types of ${repository.name} declare in the class \`${name}\`? (No constructor, nothing private.)`;
      return [
        { kind: 'methods', question, facts: [...new Set(facts)].filter((each) => each !== 'constructor') },
      ];
    }),
  );

const classHead =
  /^(?<indent>\s*)(?:export )?(?:default )?(?:declare )?(?:abstract )?class (?<name>\w+)(?:<.*>)?(?: (?:extends|implements) .*)? \{$/;
const methodHead =
  /^(?<in>\s+)(?:public )?(?:static )?(?:override )?(?:abstract )?(?:async )?(?<method>\w+)\??(?:<[^(]*>)?\s?\(/;

function resolved(from: string, to: string, known: ReadonlySet<string>): string | null {
  const path = posix.join(posix.dirname(from), to);
  const tries = [path, `${path}.js`, `${path}.ts`, `${path}/index.js`, `${path}/index.ts`];
  return tries.find((each) => known.has(each)) ?? null;
}

/** What a file exports by name. */
const exported: Miner = (repository) =>
  sources(repository).map((file) => ({
    kind: 'exports',
    question: `Which names does \`${file.path}\` of ${repository.name} export?`,
    facts: exportsOf(codeOf(file)),
  }));

function exportsOf(lines: readonly string[]): readonly string[] {
  const text = lines.join('\n');
  // Anything that is not written out would make the list incomplete, and so the question unfair.
  if (/export (?:\*|default|\{)|exports\.default|module\.exports\.|Object\.assign\(module/.test(text))
    return [];
  const list = /^module\.exports = \{(?<names>[^{}()=]*)\}/m.exec(text)?.groups?.['names'];
  if (list !== undefined)
    return list
      .split(',')
      .map((each) => each.split(':')[0]?.trim() ?? '')
      .filter((name) => /^\w+$/.test(name));
  const own = lines.map(
    (line) => /^export (?:async )?(?:function\*?|class|const|let) (?<name>\w+)/.exec(line)?.groups?.['name'],
  );
  return [...new Set(own.flatMap((name) => name ?? []))];
}

/** What a file emits, by names that are written out. */
const events: Miner = (repository) =>
  sources(repository).map((file) => ({
    kind: 'events',
    question: `Which events does the code in \`${file.path}\` of ${repository.name} emit by name?`,
    facts: [
      ...new Set(
        codeOf(file).flatMap((line) =>
          [...line.matchAll(/\.emit\(\s*['"](?<name>[\w:.-]+)['"]/g)].map(
            ({ groups = {} }) => groups['name'] ?? '',
          ),
        ),
      ),
    ],
  }));

/** Which classes extend another of the same package. */
const subclasses: Miner = (repository) => {
  const found = new Map<string, Set<string>>();
  for (const file of sources(repository)) {
    for (const line of codeOf(file)) {
      const { own, base } = /class (?<own>\w+) extends (?<base>\w+)/.exec(line)?.groups ?? {};
      if (own !== undefined && base !== undefined) found.set(base, (found.get(base) ?? new Set()).add(own));
    }
  }
  return [...found].map(([base, facts]) => ({
    kind: 'subclasses',
    question: `Which classes of ${repository.name} extend \`${base}\` directly?`,
    facts: [...facts].sort(),
  }));
};

/** Who calls a function that only one file defines; a call of something else's member of that name is none. */
const callers: Miner = (repository) => {
  const files = sources(repository).map((file) => ({ path: file.path, text: codeOf(file).join('\n') }));
  const places = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    for (const { groups } of text.matchAll(/^(?:export )?(?:async )?function\*? (?<name>\w{6,})/gm)) {
      const name = groups?.['name'] ?? '';
      places.set(name, (places.get(name) ?? new Set()).add(path));
    }
  }
  return [...places].flatMap(([name, paths]) => {
    const call = new RegExp(String.raw`(?<![\w.$]|function |function\* )${name}\(`);
    const facts = files.flatMap(({ path, text }) => (call.test(text) ? [path] : []));
    const question = `Which source files of ${repository.name} call the function \`${name}\`?`;
    return paths.size === 1 ? [{ kind: 'callers', question, facts }] : [];
  });
};

/** Who uses an error code, beside the file that all of them stand in. */
const raisers: Miner = (repository) => {
  const files = sources(repository).map((file) => ({ path: file.path, text: codeOf(file).join('\n') }));
  const codes = new Set(
    files.flatMap(({ text }) =>
      [...text.matchAll(/\bFST_ERR_\w+\b|\bERR_[A-Z_]{4,}\b/g)].map(([code]) => code),
    ),
  );
  return [...codes].map((code) => ({
    kind: 'raisers',
    question: `Which source files of ${repository.name} use the error code ${code}? (Not the file that lists all codes.)`,
    facts: files.flatMap(({ path, text }) =>
      !path.endsWith('errors.js') && new RegExp(String.raw`\b${code}\b`).test(text) ? [path] : [],
    ),
  }));
};

/** Since which version something is there, as the documents' own history says. */
const history: Miner = (repository) =>
  repository.files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => {
        const version = /^added: (?<version>v\d+\.\d+\.\d+)$/.exec(line)?.groups?.['version'];
        const title = lines.slice(Math.max(0, index - 4), index).findLast((each) => each.startsWith('##'));
        if (version === undefined || title === undefined) return [];
        const what = title.replace(/^#+ /, '').replaceAll('`', '');
        const question = `Since which version has ${repository.name} had "${what}" (documented in ${posix.basename(path)})?`;
        return [{ kind: 'history', question, facts: [version] }];
      }),
    );

/** Miners whose facts are lists: one of dozens is dropped. */
const listMiners = [importers, imported, callers, raisers, exported, events, subclasses, fields, methods];
const miners = [defaults, createdErrors, errorClasses, history];

/** All that can be asked of a repository with a truth that is certain; what is asked twice has two truths, and is left out. */
export function mine(repository: Repository): readonly Mined[] {
  const lists = listMiners.flatMap((miner) => miner(repository).filter(isList));
  const all = [...miners.flatMap((miner) => miner(repository)), ...lists];
  const asked = Map.groupBy(all, ({ question }) => question);
  return [...asked.values()].flatMap((same) => (same.length === 1 ? same : []));
}
