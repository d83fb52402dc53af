import {
  type Environment,
  isOpenTemplate,
  type OpenTemplate,
  type Template,
  type TemplateBody,
} from '#src/model/environment.ts';
import { chargesForRunning, freshLeaves, graderLeaves, isFresh } from '#src/model/grader-leaves.ts';
import type { FreshGrading, Grader, WantedChanges } from '#src/model/grader.ts';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import { neverCompared } from '#src/protocol/sandboxd/never-compared.ts';
import { maxChangedFiles } from '#src/protocol/sandboxd/wire.ts';
import { digestOf } from '../digest.ts';
import type { Folder } from '../files-read.ts';
import type { Path, Report } from '../mistakes.ts';
import { parseBytes } from '../quantities.ts';
import type { EnvironmentYaml } from '../schema/environment.ts';
import type { WholeGraderYaml } from '../schema/grader.ts';
import { compileDemands, compileTemplate } from './template.ts';

/** A part of a file's grader, as it is compiled. */
export type GraderOf<Kind extends WholeGraderYaml['kind']> = Extract<WholeGraderYaml, { kind: Kind }>;
export type GraderInHand = { readonly place: Path; readonly folder: Folder; readonly report: Report };

/**
 * What graders that work where the policy never was get their sandbox from: the policy's own template unless the author
 * writes another. It always is one of its own, by its role: its line, its pool and its breaker are not the policy's.
 */
export function graderTemplateOf(
  { sandbox, grader_sandbox }: EnvironmentYaml,
  grader: Grader,
  folder: Folder,
  report: Report,
): { readonly graderTemplate?: Template | OpenTemplate } {
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
  if (grader_sandbox !== undefined && compileDemands(grader_sandbox).demands !== undefined)
    report(['grader_sandbox'], "has no from: a grader's sandbox gets what sandbox demands from the row");
  // What the policy wrote runs next to the grader there, so that sandbox has the default user.
  const { run_as: _root, ...asUser } = sandbox;
  const template = compileTemplate(grader_sandbox ?? asUser, folder, mistaken);
  if (isOpenTemplate(template)) return { graderTemplate: { ...template, role: 'grader' } };
  const { digest: _policys, ...body } = template;
  const own = { ...body, role: 'grader' } as const;
  return { graderTemplate: { digest: digestOf(own), ...own } };
}

/**
 * Where commands are root, they are the user that a command grader has in the same sandbox: they can write its score, its
 * tests and its interpreter.
 */
export function checkGraderApart(
  { template, graderTemplate, grader }: Pick<Environment, 'template' | 'graderTemplate' | 'grader'>,
  report: Report,
): void {
  const works = graderLeaves(grader).filter((leaf) => leaf.kind === 'command' && !isFresh(leaf));
  if (template.runAs === 'root' && works.length > 0) {
    report(
      ['grader'],
      'runs in a sandbox whose commands are root (sandbox.run_as), and they can write its score: use grade_in: fresh, or grade by text, f1, calls or http',
    );
  }
  if ((template.runAs === 'root' || template.uid === 'single') && chargesForRunning(grader)) {
    report(
      ['grader'],
      'charges for time or output of commands that have the id of sandboxd (sandbox.run_as: root, sandbox.uid: single), and they can write what it reports: charge for calls alone',
    );
  }
  if (graderTemplate?.runAs === 'root') {
    report(
      ['grader_sandbox', 'run_as'],
      'must not be root: what the policy wrote would run as the user of the grader, and could write its score',
    );
  }
}

/** Absolute paths lie in folders that both sandboxes have, because what is taken out of one is put into the other. */
export function checkArtifacts(
  { template, graderTemplate, grader }: Pick<Environment, 'template' | 'graderTemplate' | 'grader'>,
  report: Report,
): void {
  if (graderTemplate === undefined) return;
  checkRoom(graderTemplate, grader, report);
  const both = (template.folders ?? []).filter((folder) => graderTemplate.folders?.includes(folder));
  checkChanges({ template, graderTemplate, grader }, report);
  for (const path of freshLeaves(grader).flatMap(({ fresh }) => fresh.artifacts)) {
    if (!path.startsWith('/') || both.some((folder) => path.startsWith(`${folder}/`))) continue;
    report(
      ['grader'],
      `names the artifact ${path}, which is neither below the workspace nor in one of sandbox.folders (of grader_sandbox too)`,
    );
  }
}

/** They are taken out of the policy's sandbox once, before the first grader. */
function checkChanges(
  { template, graderTemplate, grader }: Pick<Environment, 'template' | 'graderTemplate' | 'grader'>,
  report: Report,
): void {
  const wanted = freshLeaves(grader).flatMap(({ fresh }) =>
    fresh.changes === undefined ? [] : [fresh.changes],
  );
  const [first] = wanted;
  if (wanted.some((one) => JSON.stringify(one) !== JSON.stringify(first)))
    report(['grader'], 'has graders with different changes: they are taken once for all, so write the same');
  if (first !== undefined && JSON.stringify(template.image) !== JSON.stringify(graderTemplate?.image))
    report(['grader_sandbox', 'image'], 'must be that of sandbox: the grader gets what differs from it');
}

const mebibyte = 1024 * 1024;

/** 4,096 files and as many folders: each may end in a block of 4 KiB that is not full. */
const blocksBytes = 32 * mebibyte;

/** sandboxd (up to 20 MiB) and the helper that unpacks (28 MiB). The kernel's 8 MiB for so many files are in the blocks. */
const processesBytes = 64 * mebibyte;

/**
 * A sandbox that is too small for what a policy may leave is replaced by one of the same size, until the turn ends. A
 * policy that leaves as much as it may would then get a discard instead of its score. The grader needs as much again.
 */
function checkRoom({ diskBytes, memory }: TemplateBody, grader: Grader, report: Report): void {
  const most = Math.max(...freshLeaves(grader).map(({ fresh }) => fresh.mostBytes));
  const disk = 2 * most + blocksBytes;
  const check = (what: string, has: number, needs: number, why: string) => {
    if (has >= needs) return;
    report(
      ['grader', 'artifact_bytes'],
      `may fill the sandbox in which they are graded: its ${what} is ${inMebibytes(has)} and must be ${inMebibytes(needs)} at least, which is twice artifact_bytes and ${why}; give grader_sandbox more, or allow fewer bytes`,
    );
  };
  check('disk', diskBytes, disk, `${inMebibytes(blocksBytes)} for blocks that are not full`);
  // On one machine the disk is memory.
  const around = `${inMebibytes(blocksBytes + processesBytes)} for such blocks and the processes that place them`;
  check('memory limit', memory.limitBytes, disk + processesBytes, around);
}

const inMebibytes = (bytes: number): string => `${Math.ceil(bytes / mebibyte)}Mi`;

/** Gateways hold them in memory until a grade is over, hundreds at a time. */
const defaultBytes = '8Mi';
const mostTaken = 64 * 1024 * 1024;

/** Caches, and a repository's own files: neither is part of an answer, and both can hold what its tests would run in its place. */
const usualExceptions = ['.git', '__pycache__'];

function changesOf(
  command: readonly string[],
  { below, except = usualExceptions, files = maxChangedFiles }: NonNullable<GraderOf<'command'>['changes']>,
  report: Report,
  place: Path,
): WantedChanges {
  const folders = below.map((each) => (each === '/' ? each : each.replace(/\/$/, '')));
  for (const folder of folders) {
    const closed = neverCompared.find((each) => isAtOrBelow(folder, each));
    if (closed !== undefined) report([...place, 'below'], `names ${folder}: ${closed} has what graders run`);
    if (folder.startsWith('/') && command[0]?.startsWith(`${folder}/`) === true)
      report(
        [...place, 'below'],
        `names ${folder}, and the grader is a program there, which the policy may have written`,
      );
  }
  for (const name of except)
    if (name.includes('/') && !name.startsWith('/'))
      report([...place, 'except'], `names ${name}: write a name without a slash, or an absolute path`);
  return { below: folders, except, mostFiles: files };
}

/** How a grader is cut off from the policy's sandbox; nothing where it works there. */
export function freshOf(
  yaml: GraderOf<'command'>,
  { place, report }: GraderInHand,
): { readonly fresh?: FreshGrading } {
  const { artifacts, artifact_bytes, on_artifacts, changes } = yaml;
  if (yaml.grade_in !== 'fresh') {
    for (const field of ['artifacts', 'changes', 'artifact_bytes', 'on_artifacts'] as const)
      if (yaml[field] !== undefined)
        report(
          [...place, field],
          'is of graders with grade_in: fresh; this one works among the files themselves',
        );
    return {};
  }
  const bytes = parseBytes(artifact_bytes ?? defaultBytes);
  if (bytes > mostTaken) report([...place, 'artifact_bytes'], `must be at most ${mostTaken}`);
  if (artifacts === undefined && changes === undefined)
    report(
      [...place, 'artifacts'],
      "is missing, or changes: a grader in a sandbox of its own sees nothing else of the policy's",
    );
  if (artifacts !== undefined && changes !== undefined)
    report([...place, 'changes'], 'replaces artifacts: write one of them');
  if (on_artifacts === undefined)
    report(
      [...place, 'on_artifacts'],
      'is missing: the score of a rollout that leaves them missing, unreadable or too large',
    );
  const fresh = { artifacts: artifacts ?? [], mostBytes: bytes, onArtifacts: on_artifacts ?? 0 };
  if (changes === undefined) return { fresh };
  return { fresh: { ...fresh, changes: changesOf(yaml.command, changes, report, [...place, 'changes']) } };
}
