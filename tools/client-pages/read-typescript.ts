import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import type { Exported } from './exported.ts';

const root = join(import.meta.dirname, '../..');

/** Types that exported ones consist of. The package does not export them, and a reader needs their fields. */
const parts = {
  './client.ts': ['Burst'],
  './errors.ts': ['Admitted', 'Blame', 'Evidence'],
  './events.ts': ['Place'],
  './writing.ts': ['CommandOptions', 'Json'],
};

/** What the TypeScript client exports, from the declarations that the compiler writes for the package. */
export function readTypescript(): readonly Exported[] {
  const folder = writeDeclarations();
  try {
    const index = parse(readFileSync(join(root, 'clients/typescript/src/index.ts'), 'utf8'));
    const exported = index.flatMap((node) => (node.type === 'ExportNamedDeclaration' ? namesIn(node) : []));
    const inside = Object.entries(parts).flatMap(([file, names]) => names.map((name) => ({ file, name })));
    const find = ({ file, name }: Origin) => declarationOf(join(folder, file.replace(/ts$/, 'd.ts')), name);
    // Above the first type of a file is a comment about the file.
    return [...exported.map(find), ...inside.map((origin) => withoutText(find(origin)))];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const withoutText = ({ name, declaration }: Exported): Exported => ({ name, text: '', declaration });

type Origin = { readonly file: string; readonly name: string };

function writeDeclarations(): string {
  const folder = mkdtempSync(join(tmpdir(), 'corral-declarations-'));
  const options = ['-p', 'clients/typescript', '--emitDeclarationOnly', '--outDir', folder];
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options], { cwd: root });
  return folder;
}

const parse = (text: string) => parseAst(text, { lang: 'ts', sourceType: 'module' }).body;

type Statement = ReturnType<typeof parse>[number];

const namesIn = (node: Extract<Statement, { type: 'ExportNamedDeclaration' }>): readonly Origin[] =>
  node.specifiers.flatMap(({ local }) =>
    local.type === 'Identifier' ? [{ file: node.source?.value ?? '', name: local.name }] : [],
  );

function declarationOf(file: string, name: string): Exported {
  const text = readFileSync(file, 'utf8');
  const body = parse(text);
  const at = body.findIndex((node) => declaredName(declaredBy(node)) === name);
  const node = body[at];
  if (node === undefined) throw new Error(`${file} does not declare ${name}`);
  const { start, end } = declaredBy(node);
  const before = text.slice(body[at - 1]?.end ?? 0, node.start);
  return { name, text: commentIn(before), declaration: publicPart(text.slice(start, end)) };
}

const declaredBy = (node: Statement) =>
  node.type === 'ExportNamedDeclaration' && node.declaration !== null ? node.declaration : node;

function declaredName(node: Statement | ReturnType<typeof declaredBy>): string | undefined {
  if (node.type === 'VariableDeclaration') {
    const [first] = node.declarations;
    return first?.id.type === 'Identifier' ? first.id.name : undefined;
  }
  return 'id' in node && node.id?.type === 'Identifier' ? node.id.name : undefined;
}

/** Without private fields, and without a constructor that only the client calls. */
const publicPart = (declaration: string): string =>
  declaration
    .replace(/^declare /, '')
    .replaceAll(/^ *(?:#private;|constructor\(session: .*)\n/gm, '')
    .replaceAll(/^ +/gm, (spaces) => ' '.repeat(Math.ceil(spaces.length / 2)));

/** The last comment before a declaration, as text. */
function commentIn(before: string): string {
  const start = before.lastIndexOf('/**');
  if (start === -1) return '';
  const lines = before.slice(start + 3, before.lastIndexOf('*/')).split('\n');
  return lines
    .map((line) => line.trim().replace(/^\* ?/, ''))
    .join('\n')
    .trim();
}
