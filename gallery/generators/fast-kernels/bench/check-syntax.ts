import { type CNode, parseC } from './parse-c.mjs';

/*
 * What a kernel must not contain, checked in the syntax tree of the preprocessed unit: macros are expanded there and no header is in it.
 * Each refusal has a name, which the tool prints before the policy is graded.
 */

const maths = ['expf', 'logf', 'tanhf', 'sqrtf', 'fabsf', 'fmaxf', 'fminf'];

/** Functions of the C library that a kernel may call. */
export const allowedFunctions: readonly string[] = [...maths, 'memcpy', 'memset'];

const builtins: ReadonlySet<string> = new Set(
  ['expect', 'prefetch', 'assume_aligned', 'shuffle', 'shufflevector', 'convertvector', 'fmaf', 'inff']
    .concat(allowedFunctions)
    .map((name) => `__builtin_${name}`),
);

/** Vector instructions by name, without the ones that read the processor's clocks or state. */
const isVectorBuiltin = (name: string): boolean =>
  name.startsWith('__builtin_ia32_') && /(?:ps|ps256|256)$/.test(name);

const attributes = ['vector_size', 'aligned', 'may_alias', 'always_inline', 'noinline', 'unused'];

const refusedAttributes: Readonly<Record<string, string>> = {
  constructor: 'constructor',
  destructor: 'constructor',
  section: 'section',
  ifunc: 'ifunc',
  target: 'wide target',
  target_clones: 'wide target',
};

const withoutUnderscores = (name: string): string => name.replace(/^__/, '').replace(/__$/, '');

/** Every name of a refusal that applies, none if the kernel is fit to be compiled. */
export function refusalsIn(unit: string, reference: string): readonly string[] {
  const nodes = parseC(unit);
  const found = [
    ...nodes.flatMap((node) => refusalsOf(node, nodes)),
    ...(definesKernel(nodes) ? [] : ['no kernel']),
    ...(foldedTokens(nodes) === foldedTokens(parseC(reference)) ? ['reference returned'] : []),
  ];
  return [...new Set(found)];
}

function refusalsOf(node: CNode, nodes: readonly CNode[]): readonly string[] {
  if (node.type.startsWith('gnu_asm') || /^(?:__)?asm(?:__)?$/.test(node.text)) return ['inline assembly'];
  if (node.isBroken) return ['unreadable syntax'];
  switch (node.type) {
    case 'attribute_specifier':
    case 'attribute_declaration':
    case 'ms_declspec_modifier':
      return attributesIn(node.text);
    case 'preproc_call':
    case 'preproc_def':
    case 'preproc_include':
      return pragmasIn(node.text);
    case 'call_expression':
      return callRefusals(node, nodes);
    case 'function_declarator':
      return node.declarator?.type === 'identifier' ? [] : ['function pointer'];
    default:
      return [];
  }
}

function attributesIn(text: string): readonly string[] {
  const names = [...text.replaceAll(/"[^"]*"/g, '').matchAll(/[A-Za-z_]\w*/g)].map(([name]) =>
    withoutUnderscores(name),
  );
  return names
    .filter((name) => !['attribute', 'gnu', 'declspec', ...attributes].includes(name))
    .map((name) => refusedAttributes[name] ?? `attribute ${name}`);
}

function pragmasIn(text: string): readonly string[] {
  const words = text.trim().replaceAll(/\s+/g, ' ');
  if (/^# ?pragma GCC (?:ivdep|unroll \d{1,2})$/.test(words)) return [];
  if (words.startsWith('#pragma omp simd')) return [];
  return [/pragma GCC target/.test(words) ? 'wide target' : 'directive'];
}

function callRefusals({ callee }: CNode, nodes: readonly CNode[]): readonly string[] {
  if (callee === null) return [];
  // Grammar alone cannot tell (name)(value) apart: here it is a conversion if the name is a type.
  if (callee.type === 'parenthesized_expression' && typesIn(nodes).has(callee.text.slice(1, -1))) return [];
  if (callee.type !== 'identifier') return ['call of a value'];
  const { text: name } = callee;
  const allowed = allowedFunctions.includes(name) || builtins.has(name) || isVectorBuiltin(name);
  if (allowed || definedIn(nodes).has(name)) return [];
  return [`call of ${name}`];
}

const definedIn = (nodes: readonly CNode[]): ReadonlySet<string> =>
  new Set(
    nodes.flatMap(({ type, declarator }) =>
      type === 'function_declarator' && declarator !== null ? [declarator.text] : [],
    ),
  );

const typesIn = (nodes: readonly CNode[]): ReadonlySet<string> =>
  new Set(
    nodes.flatMap(({ type, declarator }) =>
      type === 'type_definition' && declarator?.type === 'type_identifier' ? [declarator.text] : [],
    ),
  );

const definesKernel = (nodes: readonly CNode[]): boolean =>
  nodes.some(
    ({ type, declarator }) =>
      type === 'function_definition' && declarator !== null && /^\**\s*kernel\s*\(/.test(declarator.text),
  );

/** The tokens of a unit, each identifier replaced by its number: names make no difference. */
function foldedTokens(nodes: readonly CNode[]): string {
  const numbers = new Map<string, number>();
  return nodes
    .filter(({ isLeaf, type }) => isLeaf && type !== 'comment')
    .map(({ type, text }) => {
      if (!type.endsWith('identifier')) return text;
      const number = numbers.get(text) ?? numbers.size;
      numbers.set(text, number);
      return `#${number}`;
    })
    .join(' ');
}
