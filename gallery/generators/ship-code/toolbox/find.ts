import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const mostLines = 60;

/** All files of the package but those of packages in it. */
const files = (): readonly string[] =>
  readdirSync('package', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('node_modules'))
    .toSorted();

export const filesWith = (text: string): readonly string[] => files().filter((path) => path.includes(text));

/** Lines of sources and tests as `path:line: text`. */
export function linesWith(fits: (line: string) => boolean): readonly string[] {
  const found: string[] = [];
  for (const path of files().filter((each) => /\.[cm]?js$/.test(each))) {
    for (const [index, line] of readFileSync(path, 'utf8').split('\n').entries())
      if (fits(line)) found.push(`${path}:${index + 1}: ${line.trim()}`);
  }
  return found.slice(0, mostLines);
}

const declares =
  /^\s*(?:async\s+)?(?:function\*?\s+\w+|class\s+\w+|module\.exports\b|exports\.\w+|[\w.]+\s*=\s*(?:async\s+)?function\b)/;

/** What a file declares, with the line of each. */
export const declarations = (path: string): readonly string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line, index) => (declares.test(line) ? [`${index + 1}: ${line.trim()}`] : []));
