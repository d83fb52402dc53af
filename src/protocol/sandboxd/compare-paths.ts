/** By the names of folders one after the other, as a walk comes by: `a/b` is before `a-b`. Both sides of a comparison sort like this. */
export function comparePaths(one: string, other: string): number {
  if (one === other) return 0;
  const [names, others] = [one.split('/'), other.split('/')];
  for (const [at, name] of names.entries()) {
    const against = others[at];
    if (against === undefined) return 1;
    if (name !== against) return name < against ? -1 : 1;
  }
  return -1;
}
