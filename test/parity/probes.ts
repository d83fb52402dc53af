import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Where a probe is played: a command of the native API, a tool of the RFT API, or a grader, by `as-policy` or by itself. */
export type Face = 'exec' | 'tool' | 'as-policy' | 'grader';
/** Who runs it: uid 1000 or uid 0. */
export type User = 'user' | 'root';

/** A small program whose output is the same in every run. README.md says what its headers mean. */
export type Probe = {
  readonly id: string;
  readonly about: string;
  readonly run: 'sh' | 'bash' | 'python' | 'node' | 'argv';
  readonly users: readonly User[];
  readonly faces: readonly Face[];
  readonly stdin: string | null;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutS: number;
  readonly environment: 'parity' | 'parity-small' | 'noname';
  readonly compare: 'all' | 'stdout' | 'exit';
  /** After the first step, `stdin` is written to this path: by an upload, in the container by a shell's `>`. */
  readonly put: string | null;
  /** After the first step, this folder is packed: by a download, in the container by tar. Its names are compared. */
  readonly get: string | null;
  /** One command after the other, in one sandbox. */
  readonly steps: readonly string[];
};

/** One probe on one face as one user. */
export type Play = { readonly name: string; readonly probe: Probe; readonly face: Face; readonly user: User };

export const probesFolder = join(import.meta.dirname, 'probes');

/** All probes of the folder's files, in order. */
export function readProbes(folder = probesFolder): readonly Probe[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.probes'));
  const probes = files.toSorted().flatMap((name) => readFile(join(folder, name)));
  const twice = probes.find(({ id }, index) => probes.findIndex((each) => each.id === id) !== index);
  if (twice !== undefined) throw new Error(`two probes have the name ${twice.id}`);
  return probes;
}

const readFile = (path: string) => {
  const [, ...blocks] = `\n${readFileSync(path, 'utf8')}`.split('\n=== ');
  return blocks.map((block) => parseProbe(block, basename(path)));
};

/** With `run_as: root` a grader is no other user than the policy, so its faces are played as `user` only. */
export function playsOf(probes: readonly Probe[]): readonly Play[] {
  return probes.flatMap((probe) =>
    probe.users.flatMap((user) =>
      probe.faces
        .filter((face) => user === 'user' || face === 'exec' || face === 'tool')
        .map((face) => ({ name: `${probe.id} ${face} ${user}`, probe, face, user })),
    ),
  );
}

/** A probe's time is for an idle machine, and what it says shall not depend on who else uses this one. */
const patience = 3;

/** Throws if the block is not one of a probe. */
export function parseProbe(block: string, file: string): Probe {
  const [head = '', ...rest] = block.split('\n---\n');
  const [id = '', ...lines] = head.trim().split('\n');
  const headers = new Map(lines.map((line) => headerIn(line, `${file}: ${id}`)));
  const words = (name: string, usual: string) => (headers.get(name) ?? usual).split(' ');
  const steps = rest.join('\n---\n').split('\n--- next\n');
  if (rest.length === 0) throw new Error(`${file}: ${id} has no script`);
  return {
    id,
    about: headers.get('about') ?? '',
    run: oneOf(headers.get('run') ?? 'sh', ['sh', 'bash', 'python', 'node', 'argv']),
    users: words('users', 'user root').map((each) => oneOf(each, ['user', 'root'])),
    faces: words('faces', 'exec').map((each) => oneOf(each, ['exec', 'tool', 'as-policy', 'grader'])),
    stdin: textIn(headers.get('stdin')),
    cwd: headers.get('cwd') ?? '/workspace',
    env: variablesIn(headers.get('env')),
    timeoutS: Number(headers.get('timeout') ?? 60) * patience,
    environment: oneOf(headers.get('environment') ?? 'parity', ['parity', 'parity-small', 'noname']),
    put: headers.get('put') ?? null,
    get: headers.get('get') ?? null,
    compare: oneOf(headers.get('compare') ?? 'all', ['all', 'stdout', 'exit']),
    steps: steps.map(
      (step) => `${step.replaceAll(/@text (\d+)@/g, (_, bytes: string) => textOf(Number(bytes))).trim()}\n`,
    ),
  };
}

function headerIn(line: string, of: string): readonly [string, string] {
  const at = line.indexOf(':');
  if (at < 1) throw new Error(`${of}: ${line} is not a header`);
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

function oneOf<Word extends string>(word: string, words: readonly Word[]): Word {
  const found = words.find((each) => each === word);
  if (found === undefined) throw new Error(`${word} must be one of: ${words.join(', ')}`);
  return found;
}

const textIn = (json: string | undefined): string | null =>
  json === undefined ? null : String(JSON.parse(json));

function variablesIn(json: string | undefined): Readonly<Record<string, string>> {
  const parsed: unknown = JSON.parse(json ?? '{}');
  return Object.fromEntries(Object.entries(parsed ?? {}).map(([name, value]) => [name, String(value)]));
}

/** Lines with characters that a shell could take for its own. */
function textOf(bytes: number): string {
  const line = '0123456789 abcdefghijklmnopqrstuvwxyz $HOME `x` "q" \'s\' \\n\n';
  const text = line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
  return text.slice(0, text.lastIndexOf('\n'));
}

const programs = { sh: ['sh', '-c'], bash: ['bash', '-c'], python: ['python3', '-c'], node: ['node', '-e'] };

/** Program and arguments of one step. */
export function argvOf({ run }: Probe, step: string): readonly string[] {
  if (run !== 'argv') return [...programs[run], step];
  const argv: unknown = JSON.parse(step);
  return Array.isArray(argv) ? argv.map(String) : [];
}
