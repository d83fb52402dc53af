/**
 * `{path}` in a command stands for an argument of the call, `{item.repo}` for a field of the dataset row. `{{path}}`
 * is the literal text `{path}`; every other brace is itself (`awk '{ print $1 }'`, JSON).
 */
const pattern = /\{\{([A-Za-z_][\w.-]*)\}\}|\{([A-Za-z_][\w.-]*)\}/g;

const itemPrefix = 'item.';

/** Names of the placeholders in one argv element, in order, `item.` included. */
export function placeholdersIn(element: string): readonly string[] {
  return [...element.matchAll(pattern)].flatMap(([, , name]) => (name === undefined ? [] : [name]));
}

/** Whether the element is one placeholder and nothing else, so that its value is a whole argv element. */
export function isOnePlaceholder(element: string): boolean {
  const [only, ...rest] = placeholdersIn(element);
  return only !== undefined && rest.length === 0 && element === `{${only}}`;
}

/** The item field that a placeholder names, or null where it names an argument. */
export function itemFieldOf(placeholder: string): string | null {
  return placeholder.startsWith(itemPrefix) ? placeholder.slice(itemPrefix.length) : null;
}

/** Plain text and names in turns, beginning and ending with text. */
export function splitAtPlaceholders(element: string): readonly string[] {
  const parts = [''];
  let at = 0;
  for (const found of element.matchAll(pattern)) {
    const [whole, literal, name] = found;
    parts[parts.length - 1] += element.slice(at, found.index);
    if (name === undefined) parts[parts.length - 1] += `{${literal ?? ''}}`;
    else parts.push(name, '');
    at = found.index + whole.length;
  }
  parts[parts.length - 1] += element.slice(at);
  return parts;
}

/** The element with its placeholders filled in; values are inserted as they are and never looked at again. */
export function fillPlaceholders(element: string, valueOf: (name: string) => string): string {
  return element.replaceAll(pattern, (_whole, literal: string | undefined, name: string | undefined) =>
    name === undefined ? `{${literal ?? ''}}` : valueOf(name),
  );
}
