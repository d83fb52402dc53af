/** Whether a text is as one of the patterns says, in which `*` stands for anything. */
export function matchesOne(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matches(pattern.split('*'), text));
}

/**
 * The first part begins the text, the last ends it, and each one between is taken where it comes first: if the rest fits
 * behind a later place, it fits behind an earlier one too, so nothing is ever tried twice.
 */
function matches([first = '', ...others]: readonly string[], text: string): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const found = text.indexOf(part, from);
    if (found === -1) return false;
    from = found + part.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}
