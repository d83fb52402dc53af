/** One option with its values; `--perms` and `--size` speak of the option after them. */
export type Option = readonly string[];

/** Folders above a mount are named one by one: those that bubblewrap makes by itself only user 0 may enter. */
export function mount(option: string, source: string, target: string): readonly Option[] {
  return [...parentsOf(target), [option, source, target]];
}

export function parentsOf(target: string): readonly Option[] {
  const above = target.split('/').slice(1, -1);
  return above.map((_, index) => ['--dir', `/${above.slice(0, index + 1).join('/')}`]);
}
