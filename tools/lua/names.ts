import luaparse, { type Chunk, type Identifier, type MemberExpression, type Node } from 'luaparse';

export type Name = { readonly name: string; readonly line: number };

export type LuaNames = {
  /** Declared outside of all functions, so that files further down see them. */
  readonly declared: readonly Name[];
  /** Used, and declared nowhere in the file. */
  readonly free: readonly Name[];
  /** Declared inside a function and never read. `_` says so itself. */
  readonly unread: readonly Name[];
  /** Declared outside of all functions and not read in this file. */
  readonly unreadHere: readonly Name[];
  /** Declared a second time in one scope, where it hides the first. */
  readonly again: readonly Name[];
  /** Fields that are read of names that the file does not declare: `join` of `Line.join`. */
  readonly members: readonly (Name & { readonly of: string })[];
  /** Fields of the table that the file returns. */
  readonly returned: readonly Name[];
};

type Local = Name & { read: boolean };
type Scope = { readonly locals: Map<string, Local>; readonly outer: Scope | null };

/** What the names of a Lua file mean, by the rules of Lua 5.1: a local is seen from the statement after its own. */
export function namesOf(text: string): LuaNames {
  return new Reader().read(luaparse.parse(text, { luaVersion: '5.1', locations: true, comments: false }));
}

class Reader {
  readonly #free: Name[] = [];
  readonly #all: Local[] = [];
  readonly #again: Name[] = [];
  readonly #members: (Name & { readonly of: string })[] = [];
  #scope: Scope = { locals: new Map(), outer: null };

  read(chunk: Chunk): LuaNames {
    const file = this.#scope;
    this.#visitAll(childrenOf(chunk));
    const declared = this.#all.filter((local) => file.locals.get(local.name) === local);
    const unread = this.#all.filter(({ name, read }) => !read && name !== '_');
    return {
      declared,
      free: this.#free,
      unread: unread.filter((local) => !declared.includes(local)),
      unreadHere: unread.filter((local) => declared.includes(local)),
      again: this.#again,
      members: this.#members,
      returned: returnedBy(chunk),
    };
  }

  #visitAll(nodes: readonly Node[]): void {
    for (const node of nodes) this.#visit(node);
  }

  #visit(node: Node): void {
    const { type } = node;
    if (type === 'Identifier') return this.#use(node);
    // What stands behind a dot or before a table's `=` is no name of a variable.
    if (type === 'MemberExpression') return this.#visitMember(node);
    if (type === 'TableKeyString') return this.#visit(node.value);
    if (type === 'LocalStatement') {
      this.#visitAll(node.init);
      return this.#declare(node.variables);
    }
    if (type === 'AssignmentStatement') {
      this.#visitAll(node.init);
      return node.variables.forEach((target) => this.#assign(target));
    }
    this.#visitBlock(node);
  }

  #visitMember({ base, identifier }: MemberExpression): void {
    this.#visit(base);
    if (base.type === 'Identifier' && this.#find(base.name) === undefined)
      this.#members.push({ of: base.name, ...nameOf(identifier) });
  }

  /** Each block is a scope of its own. */
  #visitBlock(node: Node): void {
    const { type } = node;
    if (type === 'FunctionDeclaration') return this.#visitFunction(node);
    if (type === 'RepeatStatement') return this.#within([], [...node.body, node.condition]);
    if (type === 'ElseClause' || type === 'DoStatement') return this.#within([], node.body);
    if (type === 'ForNumericStatement') {
      this.#visitAll([node.start, node.end, ...(node.step === null ? [] : [node.step])]);
      return this.#within([node.variable], node.body);
    }
    if (type === 'ForGenericStatement') {
      this.#visitAll(node.iterators);
      return this.#within(node.variables, node.body);
    }
    if (type === 'WhileStatement' || type === 'IfClause' || type === 'ElseifClause') {
      this.#visit(node.condition);
      return this.#within([], node.body);
    }
    this.#visitAll(childrenOf(node));
  }

  #visitFunction(node: Extract<Node, { readonly type: 'FunctionDeclaration' }>): void {
    const { identifier, isLocal, parameters, body } = node;
    if (identifier?.type === 'Identifier' && isLocal) this.#declare([identifier]);
    else if (identifier !== null) this.#assign(identifier);
    this.#within(
      parameters.filter((parameter) => parameter.type === 'Identifier'),
      body,
    );
  }

  #within(declared: readonly Identifier[], body: readonly Node[]): void {
    const outer = this.#scope;
    this.#scope = { locals: new Map(), outer };
    this.#declare(declared);
    this.#visitAll(body);
    this.#scope = outer;
  }

  #declare(identifiers: readonly Identifier[]): void {
    for (const identifier of identifiers) {
      const local = { ...nameOf(identifier), read: false };
      if (this.#scope.locals.has(local.name) && local.name !== '_') this.#again.push(local);
      this.#scope.locals.set(local.name, local);
      this.#all.push(local);
    }
  }

  #use(identifier: Identifier): void {
    const local = this.#find(identifier.name);
    if (local === undefined) this.#free.push(nameOf(identifier));
    else local.read = true;
  }

  /** To write a name is not to read it. */
  #assign(target: Node): void {
    if (target.type !== 'Identifier') this.#visit(target);
    else if (this.#find(target.name) === undefined) this.#free.push(nameOf(target));
  }

  #find(name: string): Local | undefined {
    for (let scope: Scope | null = this.#scope; scope !== null; scope = scope.outer) {
      const local = scope.locals.get(name);
      if (local !== undefined) return local;
    }
    return undefined;
  }
}

function returnedBy({ body }: Chunk): readonly Name[] {
  const last = body.at(-1);
  const table = last?.type === 'ReturnStatement' ? last.arguments[0] : undefined;
  if (table?.type !== 'TableConstructorExpression') return [];
  return table.fields.filter((field) => field.type === 'TableKeyString').map(({ key }) => nameOf(key));
}

function nameOf({ name, loc }: Identifier): Name {
  return { name, line: loc?.start.line ?? 0 };
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flat().filter(isNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
