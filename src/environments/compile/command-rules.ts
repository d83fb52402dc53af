import { basename } from 'node:path';
import { isOnePlaceholder, itemFieldOf, placeholdersIn } from '#src/model/placeholder.ts';

/*
 * What a command of an environment may look like. Each rule returns the rest of a sentence that begins with the
 * command's place in the file, or null where the command keeps it.
 */

const shells = new Set(['sh', 'bash', 'dash', 'ash', 'zsh', 'ksh']);

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

/** What stands after `-c` or `-e` (also `-lc`) of one of the programs, wherever in the command it is. */
function scriptsOf(argv: readonly string[], programs: ReadonlySet<string>): readonly string[] {
  const start = argv.findIndex((element) => programs.has(basename(element)));
  if (start === -1) return [];
  return argv.filter(
    (_element, index) => index > start + 1 && /^-[A-Za-z]*[ce]$/.test(argv[index - 1] ?? ''),
  );
}
