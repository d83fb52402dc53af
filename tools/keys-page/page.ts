import { keyNames, type KeyName } from '#src/adapters/redis/keys.ts';
import type { LuaFile } from '#src/adapters/redis/script-library.ts';
import type { KeyRow, KeySection } from './key-row.ts';
import { fleetKeys, rolloutsKeys } from './rollouts.ts';
import {
  controlsKeys,
  environmentsKeys,
  gatewaysKeys,
  guardsKeys,
  presenceKeys,
  probesKeys,
  runsKeys,
} from './runs.ts';
import { lineKeys, sandboxesKeys } from './sandboxes.ts';
import { writersOf, type Writers } from './writers.ts';

const sections = {
  fleet: fleetKeys,
  rollouts: rolloutsKeys,
  line: lineKeys,
  sandboxes: sandboxesKeys,
  runs: runsKeys,
  controls: controlsKeys,
  probes: probesKeys,
  guards: guardsKeys,
  environments: environmentsKeys,
  gateways: gatewaysKeys,
  presence: presenceKeys,
} as const satisfies Readonly<Record<string, KeySection>>;

/** All sections as one table. It does not compile if a key of keys.ts is missing. */
export const keyRows: Readonly<Record<KeyName, KeyRow | readonly KeyRow[]>> = {
  ...fleetKeys,
  ...rolloutsKeys,
  ...lineKeys,
  ...sandboxesKeys,
  ...runsKeys,
  ...controlsKeys,
  ...probesKeys,
  ...guardsKeys,
  ...environmentsKeys,
  ...gatewaysKeys,
  ...presenceKeys,
};

const header = `| key | type | what | life | bound | written by |
| --- | --- | --- | --- | --- | --- |`;

/** KEYS.md with its tables written again; its prose stays. */
export function keysPage(page: string, files: readonly LuaFile[]): string {
  const writers = writersOf(files);
  return Object.entries(sections).reduce(
    (text, [name, section]) =>
      between(text, `keys: ${name}`, [header, ...linesOf(section, writers, files)].join('\n')),
    page,
  );
}

function linesOf(section: KeySection, writers: Writers, files: readonly LuaFile[]): readonly string[] {
  return Object.entries(section).flatMap(([name, rows]) =>
    [rows].flat().map((row) => {
      const key = `\`${keyNames[name as KeyName]}\`${row.rest ?? ''}`;
      const written = (writers.get(name) ?? []).map((file) => `\`${pathOf(file, files)}\``).join(', ');
      return `| ${[key, row.type, row.what, row.life, row.bound, row.writer ?? written].join(' | ')} |`;
    }),
  );
}

const widthMost = 130;

/** src/README.md with its picture drawn again: which file of the scripts writes which keys. */
export function readmePage(page: string, files: readonly LuaFile[]): string {
  return between(page, 'keys and their writers', ['```', ...pictureOf(files), '```'].join('\n'));
}

function pictureOf(files: readonly LuaFile[]): readonly string[] {
  const keysOfFile = new Map<string, string[]>();
  const writers = writersOf(files);
  for (const name of Object.keys(keyNames) as KeyName[])
    for (const file of writers.get(name) ?? [])
      keysOfFile.set(file, [...(keysOfFile.get(file) ?? []), keyNames[name]]);
  const paths = [...keysOfFile]
    .map(([file, keys]) => [pathOf(file, files), keys] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const indent = Math.max(...paths.map(([path]) => path.length)) + 1;
  return paths.flatMap(([path, keys]) =>
    wrapped(keys, widthMost - indent).map((line, index) =>
      index === 0 ? `${path.padEnd(indent)}──▶ ${line}` : `${' '.repeat(indent)}    ${line}`,
    ),
  );
}

function wrapped(words: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length + 3 > width) lines.push(word);
    else lines[lines.length - 1] = `${last} · ${word}`;
  }
  return lines;
}

function pathOf(file: string, files: readonly LuaFile[]): string {
  return `${files.find(({ name }) => name === file)?.module == null ? '' : 'lib/'}${file}.lua`;
}

/** The page with `text` between the two marks of that name. */
function between(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name} -->\n`, `\n<!-- end of ${name} -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`the page has no marks "${name}"`);
  return page.slice(0, from + begin.length) + text + page.slice(to);
}
