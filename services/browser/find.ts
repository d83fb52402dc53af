import { ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';
import { describe, type Element } from './tree.ts';

export type Wanted = {
  readonly role: string;
  readonly name: string | undefined;
  readonly nth: number | undefined;
};

/** Of what is there in place of an element. */
const mostShown = 10;
const usedRoles = new Set(
  'button checkbox combobox link menuitem option radio searchbox slider switch tab textbox'.split(' '),
);

/**
 * The element of that role and name. A name that is equal comes before one that contains it. Throws {@link ToolError} with what was found
 * if it does not exist, or if several exist without `nth`.
 */
export function findElement(elements: readonly Element[], { role, name, nth }: Wanted): Element {
  const alike = elements.filter((element) => plain(element.role) === plain(role));
  const found = name === undefined ? alike : named(alike, name);
  if (found.length === 0)
    throw new ToolError(`there is no ${described(role, name)}; ${instead(elements, alike)}`);
  if (nth === undefined && found.length > 1)
    throw new ToolError(
      `${found.length} elements are ${described(role, name)}; say which with nth\n${list(found)}`,
    );
  const element = found[(nth ?? 1) - 1];
  if (element === undefined)
    throw new ToolError(`there are ${found.length} of ${described(role, name)}\n${list(found)}`);
  return element;
}

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().toLowerCase();

function named(elements: readonly Element[], name: string): readonly Element[] {
  const wanted = plain(name);
  const equal = elements.filter((element) => plain(element.name) === wanted);
  return equal.length > 0 ? equal : elements.filter((element) => plain(element.name).includes(wanted));
}

const described = (role: string, name: string | undefined): string =>
  name === undefined ? role : `${role} ${JSON.stringify(name)}`;

function instead(elements: readonly Element[], alike: readonly Element[]): string {
  const others = alike.length > 0 ? alike : elements.filter(({ role }) => usedRoles.has(role));
  return others.length === 0 ? 'the page has nothing to click or to type into' : `there are\n${list(others)}`;
}

function list(elements: readonly Element[]): string {
  const lines = elements.slice(0, mostShown).map((element, index) => `${index + 1}. ${describe(element)}`);
  if (elements.length > mostShown) lines.push(`and ${elements.length - mostShown} more`);
  return lines.join('\n');
}
