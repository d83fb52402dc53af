import { parse } from './packages/node_modules/acorn/dist/acorn.mjs';

/* Rewrites assertions of a test file into records of what the tested code gave: what was expected is not in the result. */

const assertions = new Set([
  'deepEqual',
  'deepStrictEqual',
  'doesNotReject',
  'doesNotThrow',
  'equal',
  'fail',
  'ifError',
  'match',
  'notDeepStrictEqual',
  'notEqual',
  'notStrictEqual',
  'ok',
  'rejects',
  'strictEqual',
  'throws',
]);

/** @param {string} source */
export function stripAnswers(source) {
  const tree = parse(source, { ecmaVersion: 'latest', sourceType: 'script', allowHashBang: true });
  const edits = [];
  visit(tree, (node) => {
    const edit = node.type === 'CallExpression' ? editOf(node, source) : null;
    if (edit !== null) edits.push(...edit);
  });
  let text = source;
  for (const { start, end, by } of edits.toSorted((one, other) => other.start - one.start))
    text = text.slice(0, start) + by + text.slice(end);
  return text;
}

/** `t.assert.equal(a, b)` becomes `recordSeen(t, "equal", [], a)`; of what is expected only the names of an error's fields stay. */
function editOf({ callee, arguments: given, start, end }, source) {
  const name = callee.type === 'MemberExpression' && !callee.computed ? callee.property.name : '';
  const object = callee.object;
  const isAssert = (node) => node.type === 'Identifier' && /^assert$/.test(node.name);
  const context =
    object?.type === 'MemberExpression' && object.property.name === 'assert'
      ? source.slice(object.object.start, object.object.end)
      : object && isAssert(object)
        ? 'null'
        : null;
  if (context === null || !assertions.has(name)) return null;
  const [actual, other] = isPlain(given[0]) && given[1] && !isPlain(given[1]) ? [given[1], given[0]] : given;
  const head = `recordSeen(${context}, "${name}", ${JSON.stringify(fieldsOf(other))}`;
  if (actual === undefined || name === 'fail') return [{ start, end, by: `${head})` }];
  return [
    { start, end: actual.start, by: `${head}, ` },
    { start: actual.end, end, by: ')' },
  ];
}

const fieldsOf = (node) =>
  node?.type === 'ObjectExpression' ? node.properties.flatMap(({ key }) => key?.name ?? []) : [];

/** A value that stands in the test itself, so that it is what is expected and not what is seen. */
function isPlain(node) {
  if (node?.type === 'ArrayExpression') return node.elements.every(isPlain);
  if (node?.type === 'ObjectExpression') return node.properties.every(({ value }) => isPlain(value));
  return node?.type === 'Literal' || (node?.type === 'Identifier' && node.name === 'undefined');
}

function visit(node, look) {
  look(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value])
      if (child !== null && typeof child === 'object' && 'type' in child) visit(child, look);
  }
}
