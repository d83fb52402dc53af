import luaparse, { type Node } from 'luaparse';
import type { LuaFile } from '#src/adapters/redis/script-library.ts';

const registering = new Set(['script', 'reading', 'unguarded']);

/** What the scripts of a file read of what they are asked, against the fields of their contracts: of a misspelt one Lua makes nil. */
export function askedComplaints(
  file: LuaFile,
  fieldsOf: (script: string) => readonly string[],
): readonly string[] {
  return scriptsIn(file.text).flatMap((script) => complaintsOf(file.name, script, fieldsOf(script.script)));
}

function complaintsOf(
  file: string,
  { script, line, read }: Script,
  fields: readonly string[],
): readonly string[] {
  const names = new Set(read.map(({ name }) => name));
  return [
    ...read
      .filter(({ name }) => !fields.includes(name))
      .map((one) => `${file}.lua:${one.line}: ${script} reads ${one.name}, which ${file}.ts lacks`),
    ...fields
      .filter((field) => !names.has(field))
      .map((field) => `${file}.lua:${line}: ${script} does not read ${field}, which ${file}.ts has`),
  ];
}

type Read = { readonly name: string; readonly line: number };
type Script = { readonly script: string; readonly line: number; readonly read: readonly Read[] };

function scriptsIn(text: string): readonly Script[] {
  const { body } = luaparse.parse(text, { luaVersion: '5.1', locations: true, comments: false });
  return body.flatMap((statement) => {
    if (statement.type !== 'CallStatement' || statement.expression.type !== 'CallExpression') return [];
    const { base, arguments: given } = statement.expression;
    const [name, run] = given;
    if (base.type !== 'Identifier' || !registering.has(base.name)) return [];
    if (name?.type !== 'StringLiteral' || run?.type !== 'FunctionDeclaration') return [];
    const [asked] = run.parameters;
    const read = asked?.type === 'Identifier' ? membersOf(asked.name, run.body) : [];
    return [{ script: name.raw.slice(1, -1), line: statement.loc?.start.line ?? 0, read }];
  });
}

function membersOf(name: string, nodes: readonly Node[]): readonly Read[] {
  return nodes.flatMap((node) => {
    const inside = membersOf(name, Object.values(node).flat().filter(isNode));
    if (node.type !== 'MemberExpression' || node.base.type !== 'Identifier' || node.base.name !== name)
      return inside;
    return [{ name: node.identifier.name, line: node.loc?.start.line ?? 0 }, ...inside];
  });
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
