/** As many links as Linux follows in one path. */
const mostLinks = 40;

/** Returns the target of the link at an absolute path; throws, as `readlinkSync` does, if there is no link. */
export type ReadLink = (path: string) => string;

/**
 * Where `path` leads for processes whose root is `root`, as they would name it: absolute links begin at that root, and nothing leads
 * out of it. What does not exist is left as it is named. Null for a circle of links.
 */
export function realPathIn(root: string, path: string, readLink: ReadLink): string | null {
  const rest = [...namesOf(path)];
  let real: readonly string[] = [];
  let links = 0;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '..') {
      real = real.slice(0, -1);
      continue;
    }
    const target = targetOf(`${root}/${[...real, name].join('/')}`, readLink);
    if (target === null) {
      real = [...real, name];
      continue;
    }
    links += 1;
    if (links > mostLinks) return null;
    rest.unshift(...namesOf(target));
    if (target.startsWith('/')) real = [];
  }
  return `/${real.join('/')}`;
}

const namesOf = (path: string) => path.split('/').filter((name) => name !== '' && name !== '.');

function targetOf(path: string, readLink: ReadLink): string | null {
  try {
    return readLink(path);
  } catch {
    return null;
  }
}
