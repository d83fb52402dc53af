import { type Environment, isOpenTemplate, type Template } from '#src/model/environment.ts';
import { freshLeaves } from '#src/model/grader-leaves.ts';
import type { FreshGrading, Grader } from '#src/model/grader.ts';
import { digestOf } from '../digest.ts';
import type { Folder } from '../files-read.ts';
import type { Report } from '../mistakes.ts';
import { parseBytes } from '../quantities.ts';
import type { EnvironmentYaml } from '../schema/environment.ts';
import type { InHand, Yaml } from './grader.ts';
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
  checkRoom(graderTemplate, grader, report);
  const both = (template.folders ?? []).filter((folder) => graderTemplate.folders?.includes(folder));
  for (const path of freshLeaves(grader).flatMap(({ fresh }) => fresh.artifacts)) {
    if (!path.startsWith('/') || both.some((folder) => path.startsWith(`${folder}/`))) continue;
    report(
      ['grader'],
      `names the artifact ${path}, which is neither below the workspace nor in one of sandbox.folders (of grader_sandbox too)`,
    );
  }
}

/** 4,096 files and as many folders, a block of 4 KiB each, beside their bytes. */
const aroundBytes = 32 * 1024 * 1024;

/**
 * A sandbox that cannot take what a policy may leave is given up for the next, which cannot either, until nobody is left to
 * grade: whoever leaves as much as it may would have a discard where it should have a score. As much again is the grader's.
 */
function checkRoom({ diskBytes, memory }: Template, grader: Grader, report: Report): void {
  const most = Math.max(...freshLeaves(grader).map(({ fresh }) => fresh.mostBytes));
  const needed = 2 * most + aroundBytes;
  if (Math.min(diskBytes, memory.limitBytes) >= needed) return;
  report(
    ['grader', 'artifact_bytes'],
    `may fill the sandbox in which they are graded: its disk and its memory must be ${Math.ceil(needed / 1024 / 1024)}Mi at least, which is twice artifact_bytes and 32Mi; give grader_sandbox more, or allow fewer bytes`,
  );
}

/** Gateways hold them in memory until a grade is over, hundreds at a time. */
const defaultBytes = '8Mi';
const mostTaken = 64 * 1024 * 1024;

/** How a grader is cut off from the policy's sandbox; nothing where it works there. */
export function freshOf(yaml: Yaml<'command'>, { place, report }: InHand): { readonly fresh?: FreshGrading } {
  const { artifacts, artifact_bytes, on_artifacts } = yaml;
  if (yaml.grade_in !== 'fresh') {
    for (const field of ['artifacts', 'artifact_bytes', 'on_artifacts'] as const)
      if (yaml[field] !== undefined)
        report(
          [...place, field],
          'is of graders with grade_in: fresh; this one works among the files themselves',
        );
    return {};
  }
  const bytes = parseBytes(artifact_bytes ?? defaultBytes);
  if (bytes > mostTaken) report([...place, 'artifact_bytes'], `must be at most ${mostTaken}`);
  if (artifacts === undefined)
    report(
      [...place, 'artifacts'],
      "is missing: a grader in a sandbox of its own sees nothing else of the policy's",
    );
  if (on_artifacts === undefined)
    report(
      [...place, 'on_artifacts'],
      'is missing: the score of a rollout that leaves them missing, unreadable or too large',
    );
  return { fresh: { artifacts: artifacts ?? [], mostBytes: bytes, onArtifacts: on_artifacts ?? 0 } };
}
