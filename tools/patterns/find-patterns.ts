import { parseAst } from 'rolldown/parseAst';

/** A regular expression in a source file. */
export type Found = {
  readonly line: number;
  /** Null: it is made while the program runs, of who knows what. */
  readonly pattern: string | null;
  readonly flags: string;
};

type Node = { readonly type: string; readonly start: number; readonly [field: string]: unknown };

export function patternsIn(source: string): readonly Found[] {
  const found: Found[] = [];
  visit(parseAst(source, { lang: 'ts' }), (node) => {
    const line = source.slice(0, node.start).split('\n').length;
    if (isMadeAtRunTime(node)) found.push({ line, pattern: null, flags: '' });
    const { regex } = node as {
      readonly regex?: { readonly pattern: string; readonly flags: string } | null;
    };
    if (regex) found.push({ line, ...regex });
  });
  return found;
}

function isMadeAtRunTime({ type, callee }: Node): boolean {
  const { name } = (callee ?? {}) as { readonly name?: string };
  return (type === 'NewExpression' || type === 'CallExpression') && name === 'RegExp';
}

function visit(value: unknown, look: (node: Node) => void): void {
  if (Array.isArray(value)) return value.forEach((each) => visit(each, look));
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value && 'start' in value) look(value as Node);
  for (const each of Object.values(value)) visit(each, look);
}
