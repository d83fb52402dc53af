import { readFileSync } from 'node:fs';
import { Type } from 'typebox';
import { compileGrader } from '#src/environments/compile/grader.ts';
import { FilesRead, folderOf } from '#src/environments/files-read.ts';
import { EnvironmentMistakes, type Mistake, type Path } from '#src/environments/mistakes.ts';
import { GraderSchema, WholeGraderSchema, type WholeGraderYaml } from '#src/environments/schema/grader.ts';
import { fileCheck } from '#src/environments/schema/validate.ts';
import { YamlSource } from '#src/environments/yaml-source.ts';
import { freshLeaves, type GraderLeaf, graderLeaves, isFresh } from '#src/model/grader-leaves.ts';
import type { Grader } from '#src/model/grader.ts';
import { CommandError } from '../command-error.ts';

/** Of an environment's file only its grader counts, so that the next version of one is tried as it stands. */
const hasShape = fileCheck(
  Type.Object(
    { grader: Type.Unsafe<WholeGraderYaml>(WholeGraderSchema) },
    { additionalProperties: true, $defs: { grader: GraderSchema } },
  ),
);

/** `name`: the environment's name; null if the file is not an environment. */
export type NewGrader = { readonly grader: Grader; readonly name: string | null };

/** The grader of a file. Throws every mistake in it at once, and what of it cannot look at a rollout that is over. */
export function readNewGrader(file: string): NewGrader {
  const source = new YamlSource(file, textOf(file));
  const mistakes: Mistake[] = [...source.syntaxMistakes];
  const report = (path: Path, message: string) => void mistakes.push(source.mistake(path, message));
  const { value } = source;
  if (mistakes.length === 0 && hasShape(value, report)) {
    const grader = compileGrader(value.grader, {
      place: ['grader'],
      folder: folderOf(file, new FilesRead()),
      report,
    });
    const name = 'name' in value && typeof value.name === 'string' ? value.name : null;
    if (mistakes.length === 0) return { grader: refuseUngradable(grader), name };
  }
  throw new EnvironmentMistakes(mistakes);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const next = 'name a YAML file with grader: {…}';
    throw new CommandError(`cannot read ${file}: ${String(error)}`, 'yours', next, error);
  }
}

function refuseUngradable(grader: Grader): Grader {
  const isElsewhere = freshLeaves(grader).length > 0;
  const refused = isElsewhere
    ? [...(hasPenalty(grader) ? ['a penalty looks at its calls'] : []), ...leavesBeside(grader)]
    : graderLeaves(grader).flatMap((leaf) => whyNot(leaf) ?? []);
  if (refused.length === 0) return grader;
  const next = 'leave those parts out, or play new rollouts in an environment with this grader';
  throw new CommandError(`a kept rollout cannot be graded so: ${refused.join('; ')}`, 'yours', next);
}

/** With a grader elsewhere the fleet also asks all other parts, about a rollout that has the artifacts and the answer, but no calls. */
function leavesBeside(grader: Grader): readonly string[] {
  return graderLeaves(grader).flatMap((leaf) => {
    const together = 'together with a grader that has grade_in: fresh';
    if (leaf.kind === 'calls' || leaf.kind === 'http' || leaf.kind === 'none')
      return `${together} it has a grader of kind ${leaf.kind}`;
    if (leaf.kind !== 'command') return [];
    if (!isFresh(leaf)) return `${together} it has a command that works in the policy’s sandbox`;
    return leaf.readsRollout === true
      ? 'a command with grade_in: fresh names CORRAL_ROLLOUT, and the fleet has no calls of it any more'
      : [];
  });
}

/** Also one that asks nothing of a leaf: what it takes off is counted by calls. */
function hasPenalty(grader: Grader): boolean {
  if (grader.kind === 'penalty') return true;
  if (grader.kind === 'gate') return [...grader.all, grader.grader].some(hasPenalty);
  if (grader.kind === 'lowest') return grader.of.some(hasPenalty);
  return grader.kind === 'weighted' && grader.parts.some((part) => hasPenalty(part.grader));
}

/** What is kept is the rollout, and nothing of its sandbox. */
function whyNot(leaf: GraderLeaf): string | null {
  if (leaf.kind === 'none') return 'grader: {kind: none} is the trainer’s own';
  if (leaf.kind === 'http' && leaf.attach !== undefined)
    return 'an http grader attaches files of the sandbox, which is gone';
  if (leaf.kind !== 'command') return null;
  const texts = [...leaf.argv, ...Object.values(leaf.files)];
  const looks = ['as-policy', 'CORRAL_WORKSPACE'].find((word) => texts.some((text) => text.includes(word)));
  if (looks !== undefined)
    return `a command grader names ${looks}: it looks at what the policy left in its sandbox, which is gone`;
  return leaf.readsRollout === true
    ? null
    : 'a command grader does not name CORRAL_ROLLOUT, and nothing else of the rollout is there';
}
