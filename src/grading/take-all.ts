import { type FreshLeaf, freshLeaves } from '../model/grader-leaves.ts';
import type { Environment } from '../model/environment.ts';
import { aroundGraderMs, type WantedChanges } from '../model/grader.ts';
import { type Artifacts, type ArtifactsDeps, artifactsToKeep, bytesOf, takeArtifacts } from './artifacts.ts';
import type { Comparison } from './changes/compare.ts';
import { type ChangesDeps, compareChanges, takeChanges } from './changes/take-changes.ts';
import type { GradeJob } from './job.ts';
import { maxPauseMs } from './paused-clock.ts';
import type { BadFiles } from './policys-files.ts';

/** What all graders elsewhere of an environment need of the policy's, taken at once before the first of them. */
export type TakingPlan = {
  readonly paths: readonly string[];
  readonly changes: WantedChanges | null;
  readonly mostBytes: number;
  /** Memory while it is taken. */
  readonly mostHeldBytes: number;
  /** Of the grader that may take longest. */
  readonly graderMs: number;
};

export type Taken = { readonly artifacts: Artifacts | null; readonly changes: Artifacts | null };

/** Null: no grader works elsewhere. All that name changes name the same ones (`environments/compile/grader-sandbox.ts`). */
export function planTaking(environment: Environment): TakingPlan | null {
  const leaves = freshLeaves(environment.grader);
  if (leaves.length === 0) return null;
  const paths = [...new Set(leaves.flatMap(({ fresh }) => fresh.artifacts))];
  const changes = leaves.find(({ fresh }) => fresh.changes !== undefined)?.fresh.changes ?? null;
  const mostBytes = Math.max(...leaves.map(({ fresh }) => fresh.mostBytes));
  const mostHeldBytes = (paths.length > 0 ? mostBytes : 0) + (changes === null ? 0 : mostBytes);
  const graderMs = Math.max(...leaves.map((leaf) => leaf.timeoutMs + maxPauseMs(environment, leaf)));
  return { paths, changes, mostBytes, mostHeldBytes, graderMs };
}

export type Compared = Comparison | BadFiles | null;

/** Waits for a sandbox, so it comes before memory is taken. Null: no grader gets changes. */
export async function compareAll(
  deps: ChangesDeps,
  job: GradeJob,
  { changes, mostBytes, graderMs }: TakingPlan,
): Promise<Compared> {
  const until = job.deadline.earlier(graderMs + aroundGraderMs);
  return changes === null ? null : compareChanges(deps, job, { ...changes, mostBytes }, until);
}

export async function takeAll(
  deps: ArtifactsDeps & ChangesDeps,
  job: GradeJob,
  { paths, mostBytes }: TakingPlan,
  compared: Compared,
): Promise<Taken> {
  return {
    artifacts: paths.length === 0 ? null : await takeArtifacts(deps, job, { paths, mostBytes }),
    changes: compared?.kind === 'compared' ? await takeChanges(deps, job, compared) : compared,
  };
}

export const takenBytes = ({ artifacts, changes }: Taken): number =>
  [artifacts, changes].reduce((sum, each) => sum + (each === null ? 0 : bytesOf(each)), 0);

const nothing: Artifacts = { kind: 'taken', files: [] };

export const takenFor = ({ fresh }: FreshLeaf, { artifacts, changes }: Taken): Artifacts =>
  (fresh.changes === undefined ? artifacts : changes) ?? nothing;

/** What is kept of them with their rollout. */
export function keptOf({ paths, changes }: TakingPlan, taken: Taken): string {
  return artifactsToKeep([...paths, ...namesOfChanges(changes)], together(taken));
}

function together({ artifacts, changes }: Taken): Artifacts {
  if (artifacts === null || changes === null) return artifacts ?? changes ?? nothing;
  if (artifacts.kind === 'bad' || changes.kind === 'bad')
    return artifacts.kind === 'bad' ? artifacts : changes;
  return { ...changes, files: artifacts.files };
}

/** As a name among those of artifacts. */
export const namesOfChanges = (
  changes: Pick<WantedChanges, 'below' | 'except'> | null | undefined,
): readonly string[] =>
  changes == null ? [] : [`changes below ${changes.below.join(', ')} except ${changes.except.join(', ')}`];
