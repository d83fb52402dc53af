import type { Environment } from '../model/environment.ts';
import { placeholdersIn } from '../model/placeholder.ts';

/** The programs that are the environment's word, whatever the model writes, each with the tools that run it. */
export function fixedPrograms({ tools }: Pick<Environment, 'tools'>): ReadonlyMap<string, readonly string[]> {
  const toolsOf = new Map<string, readonly string[]>();
  for (const { name, run } of Object.values(tools)) {
    const [program = ''] = run.kind === 'command' ? run.argv : [];
    if (program === '' || placeholdersIn(program).length > 0) continue;
    toolsOf.set(program, [...(toolsOf.get(program) ?? []), name]);
  }
  return toolsOf;
}
