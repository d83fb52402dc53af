import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { changedFiles, differences, originalFolder } from './compare.ts';
import { declarations, filesWith, linesWith } from './find.ts';

/* The tools that are not built in, a name and its arguments: `main.ts outline package/index.js`. */

const tools: Readonly<Record<string, (...args: readonly string[]) => string>> = {
  edit_text: (path = '', old = '', by = '') => {
    const parts = readFileSync(path, 'utf8').split(old);
    if (old === '' || parts.length !== 2)
      throw new Error(`the text occurs ${old === '' ? 0 : parts.length - 1} times in ${path}`);
    return written(path, parts.join(by));
  },
  insert_lines: (path = '', after = '', text = '') =>
    written(
      path,
      linesOf(path)
        .toSpliced(Number(after), 0, ...text.split('\n'))
        .join('\n'),
    ),
  replace_lines: (path = '', from = '', to = '', text = '') => {
    const first = Number(from) - 1;
    return written(
      path,
      linesOf(path)
        .toSpliced(first, Number(to) - first, ...text.split('\n'))
        .join('\n'),
    );
  },
  move_file: (path = '', target = '') => done(() => renameSync(path, target)),
  copy_file: (path = '', target = '') => done(() => copyFileSync(path, target)),
  delete_file: (path = '') => done(() => rmSync(path)),
  make_folder: (path = '') => done(() => mkdirSync(path, { recursive: true })),
  restore_file: (path = '') => done(() => cpSync(join(originalFolder(), relative('package', path)), path)),
  read_lines: (path = '', from = '', to = '') =>
    linesOf(path)
      .map((line, index) => `${index + 1}\t${line}`)
      .slice(Math.max(0, Number(from) - 1), Number(to))
      .join('\n'),
  outline: (path = '') => declarations(path).join('\n'),
  find_files: (text = '') => filesWith(text).join('\n'),
  keyword_search: (text = '') => linesWith((line) => line.includes(text)).join('\n'),
  find_symbol: (name = '') => {
    const declared = declarationOf(name);
    return linesWith((line) => declared.test(line)).join('\n');
  },
  find_references: (name = '') => {
    const word = new RegExp(String.raw`(?<![\w$])${escaped(name)}(?![\w$])`);
    return linesWith((line) => word.test(line)).join('\n');
  },
  count_lines: (path = '') => `${linesOf(path).length} lines, ${statSync(path).size} bytes`,
  changed_files: () => changedFiles().join('\n'),
  diff: () => differences(),
  run_tests: () => node('package', '--test'),
  run_test_file: (path = '') => node('package', '--test', relative('package', path)),
  check_syntax: (path = '') => node('.', '--check', path),
  lint: () => changedFiles().flatMap(leftovers).join('\n'),
};

const linesOf = (path: string): readonly string[] => readFileSync(path, 'utf8').split('\n');

const declarationOf = (name: string): RegExp =>
  new RegExp(
    String.raw`(?:function\*?|class|const|let|var)\s+${escaped(name)}(?![\w$])|\.${escaped(name)}\s*=\s*(?:async\s+)?function`,
  );

/** A name of JavaScript has no other character with a meaning in an expression. */
const escaped = (name: string): string => name.replaceAll('$', String.raw`\$`).replaceAll(/[^\w$\\]/g, '');

function written(path: string, text: string): string {
  writeFileSync(path, text);
  return `${path} is written.`;
}

function done(act: () => void): string {
  act();
  return 'done';
}

/** Runs this Node; what a program says and how it ends is the answer. */
function node(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  process.exitCode = status ?? 1;
  return `${stdout}${stderr}`;
}

function leftovers(path: string): readonly string[] {
  if (!path.endsWith('.js')) return [];
  const lines = linesOf(path);
  const found = lines.flatMap((line, index) => {
    const wrong = /\t/.test(line)
      ? 'a tab'
      : /\s$/.test(line)
        ? 'blanks at the end'
        : /\bdebugger\b|console\.log/.test(line)
          ? 'debugging output'
          : null;
    return wrong === null ? [] : [`${path}:${index + 1}: ${wrong}`];
  });
  return lines.at(-1) === '' ? found : [...found, `${path}: no line end at the end`];
}

const [name = '', ...args] = process.argv.slice(2);
try {
  process.stdout.write(`${tools[name]?.(...args) ?? `there is no tool ${name}`}\n`);
} catch (error) {
  process.stdout.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
