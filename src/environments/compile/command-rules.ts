import { basename } from 'node:path';
import type { Tool } from '#src/model/environment.ts';
import { isOnePlaceholder, itemFieldOf, placeholdersIn } from '#src/model/placeholder.ts';

/*
 * What a command of an environment may look like. Each rule returns the rest of a sentence that begins with the
 * command's place in the file, or null where the command keeps it.
 */

const shells = new Set(['sh', 'bash', 'dash', 'ash', 'zsh', 'ksh']);
const interpreters = new Set([...shells, 'python', 'python3', 'node', 'perl', 'ruby', 'awk', 'sed']);
/** Programs that run, write or remove what their arguments name. */
const doers = new Set(
  (
    'env exec nice nohup setsid stdbuf sudo time timeout xargs busybox find make git tar rsync ' +
    'npm npx pip cp mv rm ln tee dd install patch curl wget'
  ).split(' '),
);

/** Placeholders must be parameters of the tool or exposed item fields. */
export function unknownPlaceholder(
  argv: readonly string[],
  parameters: readonly string[],
  exposed: readonly string[],
): string | null {
  for (const name of argv.flatMap(placeholdersIn)) {
    const field = itemFieldOf(name);
    if (field !== null && !exposed.includes(field)) {
      return `uses {${name}}, but ${field} is not in expose; add it there if the model may know it`;
    }
    if (field === null && !parameters.includes(name)) {
      return `uses {${name}}, which is no parameter here; write {{${name}}} for the plain text {${name}}`;
    }
  }
  return null;
}

/** A value inside a script is code: `; rm -rf /` in a search term would run. */
export function splicedScript(argv: readonly string[]): string | null {
  const spliced = scriptsOf(argv, shells).find(
    (script) => placeholdersIn(script).length > 0 && !isOnePlaceholder(script),
  );
  if (spliced === undefined) return null;
  return 'puts a value into a shell script, where it would run as code; pass it as an argument: ["sh", "-c", "grep -- \\"$1\\" .", "sh", "{query}"]';
}

/** An exit code means our failure only where the model cannot choose the program that exits with it. */
export function modelChoosesProgram(argv: readonly string[]): boolean {
  const [program = ''] = argv;
  if (hasArgument(program)) return true;
  if (doers.has(basename(program)) && argv.some(hasArgument)) return true;
  return scriptsOf(argv, interpreters).some(hasArgument) || programOf(argv).some(hasArgument);
}

/**
 * Whether a tool brings programs or files of the model's own into the sandbox. Beside one of these no exit code of any
 * tool is our failure for sure: they can remove its data, trace it, or use up what it needs.
 */
export function bringsModelsOwn(run: Tool['run']): boolean {
  if (run.kind === 'index') return false;
  return run.kind === 'builtin' ? run.tool === 'write_file' : modelChoosesProgram(run.argv);
}

const hasArgument = (element: string): boolean =>
  placeholdersIn(element).some((name) => itemFieldOf(name) === null);

/** What stands after `-c` or `-e` (also `-lc`) of one of the programs, wherever in the command it is. */
function scriptsOf(argv: readonly string[], programs: ReadonlySet<string>): readonly string[] {
  const start = argv.findIndex((element) => programs.has(basename(element)));
  if (start === -1) return [];
  return argv.filter(
    (_element, index) => index > start + 1 && /^-[A-Za-z]*[ce]$/.test(argv[index - 1] ?? ''),
  );
}

/** Of a command that begins with an interpreter: its options and the script, file or module that it runs. */
function programOf([program = '', ...rest]: readonly string[]): readonly string[] {
  if (!interpreters.has(basename(program))) return [];
  const script = rest.findIndex((element, index) => !element.startsWith('-') || isScript(rest[index - 1]));
  return script === -1 ? rest : rest.slice(0, script + 1);
}

const isScript = (option = ''): boolean => /^-[A-Za-z]*[cem]$/.test(option);
