import luaparse, { type Chunk, type Expression, type FunctionDeclaration, type Node } from 'luaparse';
import type { LuaFile } from '#src/adapters/redis/script-library.ts';

/** Commands that change a key or publish on a channel, and whether each of their arguments may be a key. */
const everyArgument = new Set(['DEL', 'UNLINK', 'RENAME']);
const firstArgument = new Set(
  'SET GETEX INCR INCRBY DECRBY PEXPIRE PUBLISH HSET HSETNX HDEL HINCRBY SADD SREM SPOP LPUSH RPOP ZADD ZREM ZPOPMIN ZREMRANGEBYRANK ZREMRANGEBYSCORE'.split(
    ' ',
  ),
);

/** A function of a file: its name as its callers write it, and what its names stand for. */
type LuaFunction = {
  readonly file: string;
  readonly name: string;
  readonly parameters: readonly string[];
  readonly body: FunctionDeclaration['body'];
  /** What its locals are set to. */
  readonly values: ReadonlyMap<string, readonly Expression[]>;
  readonly calls: readonly Called[];
};
type Called = {
  readonly name: string;
  readonly command: string | null;
  readonly args: readonly Expression[];
};

/** Which files write a key, by the key's name in the table `key`. */
export type Writers = ReadonlyMap<string, readonly string[]>;

/**
 * Reads from the scripts which file writes which key. A key that is passed to another function, which writes it, is written by the
 * file that passes it. A function that does nothing but one write is a name for that write: the files that call it write.
 */
export function writersOf(files: readonly LuaFile[]): Writers {
  const functions = new Map(files.flatMap(functionsOf).map((one) => [one.name, one]));
  const writers = new Map<string, Set<string>>();
  for (const one of functions.values())
    for (const call of one.calls)
      for (const key of keysWritten(call, one, functions)) add(writers, key, one.file);
  return new Map([...writers].map(([key, names]) => [key, [...names].sort()]));
}

function add(writers: Map<string, Set<string>>, key: string, file: string): void {
  writers.set(key, (writers.get(key) ?? new Set()).add(file));
}

type Functions = ReadonlyMap<string, LuaFunction>;

function keysWritten(call: Called, caller: LuaFunction, functions: Functions): readonly string[] {
  const other = functions.get(inFile(call.name, caller.file));
  const own = writtenArguments(call).flatMap((argument) => keysIn(argument, caller, functions));
  if (other === undefined) return own;
  const passed = parametersWritten(other, functions).flatMap((position) => {
    const argument = call.args[position];
    return argument === undefined ? [] : keysIn(argument, caller, functions);
  });
  return [...own, ...passed, ...(isNameOfWrite(other) ? keysOfOnlyWrite(other, functions) : [])];
}

function writtenArguments({ command, args }: Called): readonly Expression[] {
  if (command === null) return [];
  if (everyArgument.has(command)) return args.slice(1);
  return firstArgument.has(command) ? args.slice(1, 2) : [];
}

const isNameOfWrite = ({ body, calls }: LuaFunction): boolean =>
  body.length === 1 && body[0]?.type === 'CallStatement' && writtenArguments(calls[0] ?? noCall).length > 0;

const noCall: Called = { name: '', command: null, args: [] };

function keysOfOnlyWrite(one: LuaFunction, functions: Functions): readonly string[] {
  return writtenArguments(one.calls[0] ?? noCall).flatMap((argument) => keysIn(argument, one, functions));
}

/** The positions of the parameters that the function, or one that it calls, writes as keys. */
function parametersWritten(
  one: LuaFunction,
  functions: Functions,
  above: readonly string[] = [],
): readonly number[] {
  if (above.includes(one.name)) return [];
  const written = one.calls.flatMap((call) => {
    const other = functions.get(inFile(call.name, one.file));
    const passed = other === undefined ? [] : parametersWritten(other, functions, [...above, one.name]);
    return [...writtenArguments(call), ...passed.flatMap((position) => call.args[position] ?? [])];
  });
  const names = new Set(written.flatMap((argument) => identifiersIn(argument, one)));
  return one.parameters.flatMap((name, position) => (names.has(name) ? [position] : []));
}

/** Names that the expression is made of; those of locals are followed. */
function identifiersIn(expression: Node, one: LuaFunction, seen: readonly string[] = []): readonly string[] {
  if (expression.type === 'CallExpression' && isCommand(expression.base)) return [];
  if (expression.type !== 'Identifier')
    return childrenOf(expression).flatMap((child) => identifiersIn(child, one, seen));
  const { name } = expression;
  if (seen.includes(name)) return [];
  const values = one.values.get(name) ?? [];
  return [name, ...values.flatMap((value) => identifiersIn(value, one, [...seen, name]))];
}

/** Names of the table `key` that the expression is made of. */
function keysIn(
  expression: Node,
  one: LuaFunction,
  functions: Functions,
  seen: readonly string[] = [],
): readonly string[] {
  const inner = (node: Node, also: readonly string[] = seen) => keysIn(node, one, functions, also);
  if (expression.type === 'MemberExpression' && nameOf(expression.base) === 'key')
    return [expression.identifier.name];
  if (expression.type === 'Identifier') {
    const { name } = expression;
    if (seen.includes(name)) return [];
    return (one.values.get(name) ?? []).flatMap((value) => inner(value, [...seen, name]));
  }
  if (expression.type === 'CallExpression') {
    if (isCommand(expression.base)) return [];
    const other = functions.get(inFile(nameOf(expression.base), one.file));
    if (other !== undefined) return keysReturned(other, functions, seen);
  }
  return childrenOf(expression).flatMap((child) => inner(child));
}

/** Of a function that makes the name of a key. */
function keysReturned(one: LuaFunction, functions: Functions, seen: readonly string[]): readonly string[] {
  const last = one.body.at(-1);
  if (last?.type !== 'ReturnStatement' || seen.includes(one.name)) return [];
  return last.arguments.flatMap((argument) => keysIn(argument, one, functions, [...seen, one.name]));
}

function functionsOf({ name: file, text }: LuaFile): readonly LuaFunction[] {
  const chunk: Chunk = luaparse.parse(text, { luaVersion: '5.1', comments: false });
  const ofFile = valuesIn(chunk.body);
  return chunk.body.flatMap(declarationsIn).map((declaration, index) => {
    const name = declaration.identifier === null ? `script-${index}` : nameOf(declaration.identifier);
    const nodes = allBelow(declaration);
    return {
      file,
      name: inFile(name, file),
      parameters: declaration.parameters.flatMap((each) => (each.type === 'Identifier' ? [each.name] : [])),
      body: declaration.body,
      values: new Map([...ofFile, ...valuesIn(nodes)]),
      calls: nodes.flatMap(calledBy),
    };
  });
}

/** Functions that a file declares, and functions that it registers as scripts, with all that is in them. */
function declarationsIn(node: Node): readonly FunctionDeclaration[] {
  if (node.type === 'FunctionDeclaration') return [node];
  if (node.type !== 'CallStatement') return [];
  return childrenOf(node.expression).filter((child) => child.type === 'FunctionDeclaration');
}

function valuesIn(nodes: readonly Node[]): ReadonlyMap<string, readonly Expression[]> {
  const values = new Map<string, readonly Expression[]>();
  const set = (name: string, ...more: readonly Expression[]) =>
    values.set(name, [...(values.get(name) ?? []), ...more]);
  for (const node of nodes) {
    if (node.type === 'LocalStatement')
      node.variables.forEach(({ name }, index) => set(name, ...valueAt(node.init, index)));
    if (node.type === 'ForGenericStatement')
      for (const { name } of node.variables) set(name, ...node.iterators);
    if (node.type === 'AssignmentStatement')
      node.variables.forEach((target, index) => {
        if (target.type === 'Identifier') set(target.name, ...valueAt(node.init, index));
      });
  }
  return values;
}

/** The last value may be a call that returns several. */
function valueAt(values: readonly Expression[], index: number): readonly Expression[] {
  const last = values.at(-1);
  return values
    .slice(index, index + 1)
    .concat(index >= values.length && last?.type === 'CallExpression' ? [last] : []);
}

function calledBy(node: Node): readonly Called[] {
  if (node.type !== 'CallExpression') return [];
  const [first] = node.arguments;
  const command = first?.type === 'StringLiteral' ? first.raw.slice(1, -1) : null;
  return [{ name: nameOf(node.base), command, args: node.arguments }];
}

const isCommand = (base: Node): boolean => nameOf(base) === 'redis.call';

/** A function of the same file is called by its name, one of another file by its module's. */
const inFile = (name: string, file: string): string =>
  name.includes('.') ? name : `${file.charAt(0).toUpperCase()}${file.slice(1)}.${name}`;

function nameOf(node: Node): string {
  if (node.type === 'Identifier') return node.name;
  return node.type === 'MemberExpression' ? `${nameOf(node.base)}.${node.identifier.name}` : '';
}

function allBelow(node: Node): readonly Node[] {
  const children = childrenOf(node);
  return [children, ...children.map(allBelow)].flat();
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flat().filter(isNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
