import { chooseTemplate } from '../environments/choose-template.ts';
import { imageText } from '../environments/image-text.ts';
import { Failure } from '../failure/failure.ts';
import { type Environment, isOpenTemplate } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
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

/** The author's own mistake, or the image's: the same in every sandbox. */
export function programsMissing(
  environment: Environment,
  row: Item | null,
  missing: readonly string[],
): Failure {
  const image = imageWords(environment, row);
  const toolsOf = fixedPrograms(environment);
  const each = missing.map((program) => `${program} of ${(toolsOf.get(program) ?? []).join(' and ')}`);
  const message =
    `the image ${image} lacks programs of the tools of environment ${environment.name}, ` +
    `or their user may not run them: ${each.join(', ')}; mend the image, or the tools' commands`;
  return new Failure('setup_failed', message, {
    evidence: { image, programs: missing.join(' ') },
  });
}

function imageWords({ name, template }: Environment, row: Item | null): string {
  if (!isOpenTemplate(template)) return imageText(template.image);
  if (row === null) return 'of its row';
  return imageText(chooseTemplate({ name, template }, row).image);
}
