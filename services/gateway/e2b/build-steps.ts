import type { BuildStep } from '#src/protocol/e2b/control.ts';
import { invalid } from '../http/answer-failure.ts';
import { isKnownUser } from './identify.ts';

/*
 * The steps of a template's build. Nothing is built: each sandbox runs the steps before its client receives it. That is the same for what
 * prepares a sandbox, and takes too long for what installs a lot; a step that does not end in time is refused with its sandbox.
 */

/** What the steps of a template come to. */
export type Steps = {
  /** Runs them in their order, and ends with the last words of the first that fails; empty: they run nothing. */
  readonly script: string;
  /** Where commands of the sandbox start; null: where its image says. */
  readonly workdir: string | null;
  /** A step runs as root. */
  readonly needsRoot: boolean;
};

type Build = {
  readonly user: string;
  readonly workdir: string | null;
  readonly variables: string;
  readonly lines: readonly string[];
  readonly needsRoot: boolean;
};
type Step = { readonly label: string; readonly args: readonly string[] };

/** Throws `invalid_request`, which names the step, for one that no sandbox could run. */
export function compileSteps(steps: readonly BuildStep[]): Steps {
  let build: Build = { user: '', workdir: null, variables: '', lines: [], needsRoot: false };
  for (const [at, { type = '', args }] of steps.entries()) {
    const label = `build step ${at + 1} (${type} ${args?.[0] ?? ''})`.slice(0, longestLabel);
    const apply = kinds.get(type);
    if (apply === undefined) throw refusedStep(label);
    build = apply(build, { label, args: args ?? [] });
    checkLength(build.lines);
  }
  return { script: scriptOf(build.lines), workdir: build.workdir, needsRoot: build.needsRoot };
}

const kinds: ReadonlyMap<string, (build: Build, step: Step) => Build> = new Map([
  ['USER', (build: Build, { label, args }: Step) => ({ ...build, user: knownUser(label, args[0] ?? '') })],
  ['ENV', (build, { label, args }) => ({ ...build, variables: build.variables + exported(label, args) })],
  ['WORKDIR', (build, { label, args }) => enter(build, label, args[0] ?? '')],
  ['RUN', (build, { label, args: [command = '', user] }) => run(build, label, command, user)],
]);

function enter(build: Build, label: string, path: string): Build {
  const workdir = workdirOf(label, path);
  if (workdir === null) return { ...build, workdir };
  return { ...build, workdir, lines: [...build.lines, checked(label, `mkdir -p -- ${quoted(workdir)}`)] };
}

function run(build: Build, label: string, command: string, user = build.user): Build {
  const { variables, workdir } = build;
  const entered = workdir === null ? '' : `cd -- ${quoted(workdir)} && `;
  const line = checked(label, `${variables}${entered}run ${quoted(command)}`);
  const needsRoot = build.needsRoot || knownUser(label, user) === 'root';
  return { ...build, needsRoot, lines: [...build.lines, line] };
}

const longestLabel = 120;
/** What fleet state keeps of a template is small: a tenant may have 10,000. */
const longestScript = 8_192;

/** At each step: each line of a long build repeats all its variables, so that together they would be hundreds of megabytes. */
function checkLength(lines: readonly string[]): void {
  const length = lines.reduce((sum, line) => sum + line.length + 1, 0);
  if (length > longestScript) throw tooLong();
}

const tooLong = () =>
  invalid(`the build steps of a template may have ${longestScript} characters; ${buildElsewhere}`);

/** `before`: of the template that this one begins with. Throws `invalid_request` if both are too long. */
export function joinScripts(before: string, after: string): string {
  const script = [before, after].filter((part) => part !== '').join('\n');
  if (script.length <= longestScript) return script;
  throw tooLong();
}

const scriptOf = (lines: readonly string[]): string =>
  lines.length === 0 ? '' : [prelude, ...lines].join('\n');

/** As on E2B, where steps run in login shells. */
const prelude = `run() { [ -x /bin/bash ] && exec /bin/bash -l -c "$1"; exec /bin/sh -l -c "$1"; }
check() { [ "$1" = 0 ] || { printf '\\n%s ended with exit code %s\\n' "$2" "$1" >&2; exit 1; }; }`;

const checked = (label: string, command: string): string => `( ${command} ); check $? ${quoted(label)}`;

/** For a shell, as one word. */
function quoted(text: string): string {
  if (text.includes('\0')) throw invalid('a build step holds no NUL');
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function knownUser(label: string, user: string): string {
  if (isKnownUser(user)) return user;
  throw invalid(`${label}: a sandbox has one user, whom clients call root or user`);
}

/** E2B's own start folders mean no folder of the image's. */
const ownFolders: ReadonlySet<string> = new Set(['/', '/home/user']);

function workdirOf(label: string, path: string): string | null {
  if (ownFolders.has(path)) return null;
  if (path.startsWith('/')) return path;
  throw invalid(`${label}: name the folder by its absolute path`);
}

/** Names and values in turn. */
function exported(label: string, args: readonly string[]): string {
  const pairs = args.flatMap((name, at) => (at % 2 === 0 ? [[name, args[at + 1] ?? ''] as const] : []));
  return pairs
    .map(([name, value]) => {
      if (!/^[A-Za-z_]\w{0,255}$/.test(name)) throw invalid(`${label}: this is no name of a variable`);
      return `export ${name}=${quoted(value)}; `;
    })
    .join('');
}

export const buildElsewhere = 'build the image elsewhere and use from_image';

const refusedStep = (label: string) =>
  invalid(`${label}: sandboxes run only the steps RUN, ENV, USER and WORKDIR; ${buildElsewhere}`);
