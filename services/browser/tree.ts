import { type Fields, fieldsOf, listOf } from './dev-tools.ts';

/** An element of a page, as assistive technology reads it out. */
export type Element = {
  readonly role: string;
  readonly name: string;
  readonly value: string;
  /** As words: `checked`, `disabled`, `level 2`. */
  readonly states: readonly string[];
  readonly depth: number;
  /** By which the browser knows it. */
  readonly node: number;
};

const shownStates = new Set([
  'level',
  'checked',
  'pressed',
  'selected',
  'expanded',
  'disabled',
  'required',
  'focused',
]);
/** Pieces of a text that is shown whole, and the page itself, whose title is shown above it. */
const unseenRoles = new Set(['InlineTextBox', 'LineBreak', 'ListMarker', 'RootWebArea']);
/** They group others. */
const groupingRoles = new Set(['generic', 'none', 'LabelText', 'MenuListPopup']);
/** Deeper elements are shown as if at this depth, and a forged tree cannot be endless. */
const mostDepth = 20;

/** The elements of `Accessibility.getFullAXTree`, in the order in which they are read. */
export function elementsOf(tree: Fields): readonly Element[] {
  const nodes = new Map(listOf(tree['nodes']).map((node) => [String(node['nodeId']), node]));
  const [root] = nodes.values();
  const elements: Element[] = [];
  const open = root === undefined ? [] : [{ node: root, depth: 0, above: [''] }];
  nodes.delete(String(root?.['nodeId']));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth, above } = next;
    const element = elementOf(node, depth);
    const isSeen = node['ignored'] !== true && isShown(element, above);
    if (isSeen) elements.push(element);
    const below = isSeen
      ? { depth: Math.min(depth + 1, mostDepth), above: [element.name, element.value] }
      : { depth, above };
    for (const id of childrenOf(node).toReversed()) {
      const child = nodes.get(id);
      if (child !== undefined && nodes.delete(id)) open.push({ node: child, ...below });
    }
  }
  return elements;
}

/** A text that repeats the name or the value of its parent is not shown. */
function isShown({ role, name }: Element, above: readonly string[]): boolean {
  if (unseenRoles.has(role)) return false;
  if (role === 'StaticText') return name !== '' && !above.includes(name);
  return name !== '' || !groupingRoles.has(role);
}

const childrenOf = ({ childIds }: Fields): readonly string[] =>
  Array.isArray(childIds) ? childIds.map(String) : [];

function elementOf(node: Fields, depth: number): Element {
  const states = listOf(node['properties']).flatMap((property) => stateOf(property));
  const [role, name, value] = [textOf(node['role']), textOf(node['name']), textOf(node['value'])];
  return { role, name, value, states, depth, node: Number(node['backendDOMNodeId']) };
}

function stateOf(property: Fields): readonly string[] {
  const name = String(property['name']);
  const value = textOf(property['value']);
  if (!shownStates.has(name) || value === '' || value === 'false') return [];
  return [value === 'true' ? name : `${name} ${value}`];
}

function textOf(value: unknown): string {
  const { value: text = '' } = fieldsOf(value);
  return String(text).replaceAll(/\s+/g, ' ').trim();
}

const longestText = 2_000;
const quoted = (text: string) => JSON.stringify(text.slice(0, longestText));

/** As in `- button "Save" (disabled)`. */
export function describe({ role, name, value, states }: Element): string {
  const words = [role === 'StaticText' ? 'text' : role];
  if (name !== '') words.push(quoted(name));
  if (value !== '' && value !== name) words.push(`= ${quoted(value)}`);
  if (states.length > 0) words.push(`(${states.join(', ')})`);
  return words.join(' ');
}

/** More is no page that a model reads in one answer. */
const longestPage = 100_000;

/** A line an element, indented by its depth. */
export function outline(elements: readonly Element[]): string {
  const lines: string[] = [];
  let length = 0;
  for (const element of elements) {
    const line = `${'  '.repeat(element.depth)}- ${describe(element)}`;
    length += line.length + 1;
    if (length > longestPage)
      return [...lines, `[${elements.length - lines.length} more elements]`].join('\n');
    lines.push(line);
  }
  return lines.join('\n');
}
