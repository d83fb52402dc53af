/*
 * What one call shows in the first characters of its arguments: a verb, and the places that it names. The text is the policy's and
 * may be cut anywhere, so it is scanned once, without a parser, and every amount is bounded.
 */

const mostStrings = 64;
const mostPlaces = 24;
const mostParts = 4;

/** Every string of JSON text that may be cut: names of fields and values, in order. */
export function stringsIn(json: string): readonly string[] {
  const found: string[] = [];
  let at = json.indexOf('"');
  while (at !== -1 && found.length < mostStrings) {
    const end = endOfString(json, at + 1);
    found.push(unescaped(json.slice(at + 1, end)));
    at = json.indexOf('"', end + 1);
  }
  return found;
}

function endOfString(json: string, from: number): number {
  let at = from;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return Math.min(at, json.length);
}

function unescaped(text: string): string {
  // A cut may fall into an escape.
  const whole = text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, (cut) => (cut === '\\\\' ? cut : ''));
  try {
    return String(JSON.parse(`"${whole}"`));
  } catch {
    return text;
  }
}

const commandFields: ReadonlySet<string> = new Set(['command', 'cmd', 'script']);

/** The command line that a tool was given; null for a tool that takes none. */
function commandOf(strings: readonly string[]): string | null {
  const field = strings.findIndex((text) => commandFields.has(text));
  return field === -1 ? null : (strings[field + 1] ?? null);
}

const wrappers: ReadonlySet<string> = new Set(['sudo', 'timeout', 'env', 'nice', 'nohup', 'time', 'command']);

/** The tool, or the first program of its command line: after `cd … &&`, assignments and programs that run another. */
export function verbOf(tool: string, argumentsText: string): string {
  const command = commandOf(stringsIn(argumentsText));
  if (command === null) return tool;
  const words = afterChange(command)
    .split(/[\s;|&()]/)
    .filter((word) => word !== '');
  const program = words.find((word, index) => !isBeforeProgram(word, words[index - 1]));
  return program === undefined ? tool : (program.split('/').at(-1) ?? program).slice(0, 40);
}

function isBeforeProgram(word: string, before: string | undefined): boolean {
  if (wrappers.has(word) || /^[A-Za-z_]\w*=/.test(word)) return true;
  return before !== undefined && wrappers.has(before) && /^[-\d]/.test(word);
}

const afterChange = (command: string): string => command.trim().replace(/^cd [^&;\n]*(?:&&|;|\n)/, '');

/** Folders of programs and of devices, which every command may name. */
const system: ReadonlySet<string> = new Set(['usr', 'bin', 'sbin', 'lib', 'lib64', 'opt', 'dev']);

/**
 * Places outside of the folder where the work is done, each with the folders above it: absolute paths, paths from the home or from a
 * parent folder, and the variables of Corral's graders. At most four parts, numbers as `N`.
 */
export function placesOf(argumentsText: string): readonly string[] {
  const places = new Set<string>();
  for (const text of stringsIn(argumentsText)) {
    for (const word of text.split(/[\s'"`;|&()<>=,{}]/)) {
      for (const place of prefixesOf(word)) if (places.size < mostPlaces) places.add(place);
    }
  }
  return [...places];
}

function prefixesOf(word: string): readonly string[] {
  // Nearly every word of a run's commands ends here.
  if (!word.includes('/') && !word.includes('CORRAL_')) return [];
  const variable = /^\$?(CORRAL_[A-Z_]{1,40})$/.exec(word);
  if (variable !== null) return [`$${variable[1]}`];
  const [root = '', ...rest] = word.replace(/^\$HOME(?=\/|$)/, '~').split('/');
  if (rest.length === 0 || !['', '~', '..'].includes(root)) return [];
  const parts = rest
    .filter((part) => part !== '')
    .slice(0, mostParts)
    .map(partOf);
  if (
    parts.some((part) => !/^[\w.@%+*[\]-]{1,60}$/.test(part)) ||
    system.has(root === '' ? (parts[0] ?? '') : '')
  )
    return [];
  return parts.map((_part, index) => [root, ...parts.slice(0, index + 1)].join('/'));
}

const partOf = (part: string): string => (/^\d+$/.test(part) ? 'N' : part);

/**
 * `scratch`: every program may write there. `apart`: hidden, of the system or of a home, where no task has its files. `data`: any other absolute
 * path, which may be where the task's files are.
 */
export function kindOfPlace(place: string): 'scratch' | 'apart' | 'data' {
  const [root = '', first = '', second = ''] = place.split('/');
  if (root === '' && (first === 'tmp' || (first === 'var' && second === 'tmp'))) return 'scratch';
  if (root === '~' || root.startsWith('$')) return 'apart';
  if (root === '' && apart.has(first)) return 'apart';
  return place.split('/').some((part) => part.length > 2 && part.startsWith('.')) ? 'apart' : 'data';
}

const apart: ReadonlySet<string> = new Set(['proc', 'run', 'root', 'home', 'etc', 'var', 'sys', 'corral']);
