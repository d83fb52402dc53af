import { type Environment, isOpenTemplate, type Template } from '#src/model/environment.ts';
import type { Grader } from '#src/model/grader.ts';
import { freshLeaves } from '#src/model/grader-leaves.ts';
import { digestOf } from '../digest.ts';
import type { Report } from '../mistakes.ts';
import type { EnvironmentYaml } from '../schema/environment.ts';
import type { Folder } from './folder.ts';
import { compileTemplate } from './template.ts';

/**
 * What graders that work where the policy never was get their sandbox from: the policy's own template unless the author
 * writes another. It always is one of its own, by its role: its line, its pool and its breaker are not the policy's.
 */
export function graderTemplateOf(
  { sandbox, grader_sandbox }: EnvironmentYaml,
  grader: Grader,
  folder: Folder,
  report: Report,
): { readonly graderTemplate?: Template } {
  if (freshLeaves(grader).length === 0) {
    if (grader_sandbox !== undefined)
      report(['grader_sandbox'], 'is of graders with grade_in: fresh, and there is none');
    return {};
  }
  // Whatever is wrong with the policy's is told where that stands.
  const mistaken: Report =
    grader_sandbox === undefined
      ? () => undefined
      : (path, message) => report(['grader_sandbox', ...path.slice(1)], message);
  const template = compileTemplate(grader_sandbox ?? sandbox, folder, mistaken);
  if (isOpenTemplate(template)) {
    report(
      ['grader_sandbox'],
      'needs one image for all rows: where each row names its own, write grader_sandbox with the image that graders need',
    );
    return {};
  }
  const { digest: _policys, ...body } = template;
  const own = { ...body, role: 'grader' } as const;
  return { graderTemplate: { digest: digestOf(own), ...own } };
}

/** Absolute paths lie in folders that both sandboxes have, because what is taken out of one is put into the other. */
export function checkArtifacts(
  { template, graderTemplate, grader }: Pick<Environment, 'template' | 'graderTemplate' | 'grader'>,
  report: Report,
): void {
  if (graderTemplate === undefined) return;
  const both = (template.folders ?? []).filter((folder) => graderTemplate.folders?.includes(folder));
  for (const path of freshLeaves(grader).flatMap(({ fresh }) => fresh.artifacts)) {
    if (!path.startsWith('/') || both.some((folder) => path.startsWith(`${folder}/`))) continue;
    report(
      ['grader'],
      `names the artifact ${path}, which is neither below the workspace nor in one of sandbox.folders (of grader_sandbox too)`,
    );
  }
}
