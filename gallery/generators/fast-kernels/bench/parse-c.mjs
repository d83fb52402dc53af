import { join } from 'node:path';
import { Language, Parser } from '../parser/web-tree-sitter.js';

/* The parser of C: WebAssembly, so that no native module is loaded. */

await Parser.init();
const c = await Language.load(join(import.meta.dirname, '../parser/tree-sitter-c.wasm'));

/** Read as a whole: their arguments look like calls. */
const attributes = new Set(['attribute_specifier', 'attribute_declaration', 'ms_declspec_modifier']);

/** Every node of a text as a flat list, in the order of the text. */
export function parseC(text) {
  const parser = new Parser();
  parser.setLanguage(c);
  const nodes = [];
  const waiting = [parser.parse(text).rootNode];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const callee = node.type === 'call_expression' ? node.childForFieldName('function') : null;
    const declarator = node.childForFieldName('declarator');
    nodes.push({
      type: node.type,
      text: node.text,
      isLeaf: node.childCount === 0,
      isBroken: node.isError || node.isMissing,
      callee: callee === null ? null : { type: callee.type, text: callee.text },
      declarator: declarator === null ? null : { type: declarator.type, text: declarator.text },
      isTop: node.parent?.type === 'translation_unit',
    });
    if (!attributes.has(node.type)) waiting.push(...node.children.toReversed());
  }
  return nodes;
}
