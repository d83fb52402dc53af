/**
 * What `*` means in the paths that an environment names, of artifacts and of what judges are shown: anything within one name.
 * Parts between the stars are looked for one after the other, by hand: a regular expression made of many stars could be slow
 * on a name that a policy chose.
 */
export function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  const last = rest.pop() ?? '';
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
