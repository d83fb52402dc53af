import { promptFields } from './dataset.ts';
import { type Environment, isOpenTemplate } from './environment.ts';
import type { FreshGrading, Grader } from './grader.ts';

/** A grader that gives a score by itself, and is no composition of others. */
export type GraderLeaf = Exclude<Grader, { readonly kind: 'gate' | 'lowest' | 'weighted' | 'penalty' }>;

/** The graders that it composes, in the order in which they are asked; none if it gives a score by itself. */
function partsOf(grader: Grader): readonly Grader[] {
  switch (grader.kind) {
    case 'gate':
      return [...grader.all, grader.grader];
    case 'lowest':
      return grader.of;
    case 'weighted':
      return grader.parts.map((part) => part.grader);
    case 'penalty':
      return [grader.grader];
    case 'none':
    case 'f1':
    case 'recall':
    case 'text':
    case 'calls':
    case 'command':
    case 'http':
      return [];
  }
}

/** Itself and all that it is composed of. */
export const gradersIn = (grader: Grader): readonly Grader[] => [
  grader,
  ...partsOf(grader).flatMap(gradersIn),
];

/** What gives the scores that it is composed of, in the order in which it is asked. */
export const graderLeaves = (grader: Grader): readonly GraderLeaf[] => gradersIn(grader).filter(isLeaf);

const isLeaf = (grader: Grader): grader is GraderLeaf => partsOf(grader).length === 0;

/** Whether some part looks at what the rollout's calls said. */
export const readsCalls = (grader: Grader): boolean =>
  graderLeaves(grader).some(
    (leaf) =>
      leaf.kind === 'calls' ||
      (leaf.kind === 'command' && leaf.readsRollout === true) ||
      (leaf.kind === 'http' && leaf.calls === true),
  );

/** Whether what calls said is written down: for its grader, or for a newer one. */
export const keepsCalls = ({ grader, keep }: Pick<Environment, 'grader' | 'keep'>): boolean =>
  keep !== undefined || readsCalls(grader);

/** Whether some part runs inside the rollout's sandbox, or looks at what the policy left there. */
export function needsSandbox(grader: Grader): boolean {
  return graderLeaves(grader).some((leaf) => leaf.kind === 'command' || isSentFiles(leaf));
}

/** Those that work where the policy never was. */
export function freshLeaves(grader: Grader): readonly FreshLeaf[] {
  return graderLeaves(grader).filter((leaf) => isFresh(leaf));
}

type CommandLeaf = Extract<GraderLeaf, { readonly kind: 'command' }>;
export type FreshLeaf = CommandLeaf & { readonly fresh: FreshGrading };

/** Whether it works where the policy never was. */
export const isFresh = (leaf: GraderLeaf): leaf is FreshLeaf =>
  leaf.kind === 'command' && leaf.fresh !== undefined;

/** Whether nothing needs the policy's sandbox any more once the artifacts were taken out of it. */
export function outlivesItsSandbox(grader: Grader): boolean {
  return graderLeaves(grader).every(
    (leaf) => isFresh(leaf) || (leaf.kind !== 'command' && !isSentFiles(leaf)),
  );
}

/** A judge's files are read when it is asked, out of the policy's own sandbox. */
const isSentFiles = (leaf: GraderLeaf): boolean => leaf.kind === 'http' && leaf.attach !== undefined;

/** Where in the row the leaf finds what it compares with; null where it gets the whole row, or compares with nothing of it. */
export function referenceOf(leaf: GraderLeaf): string | null {
  switch (leaf.kind) {
    case 'f1':
    case 'recall':
    case 'text':
      return leaf.reference;
    case 'calls':
      return leaf.asks === 'opened' ? leaf.reference : null;
    case 'none':
    case 'command':
    case 'http':
      return null;
  }
}

/** The one field of a dataset row that is ours and not the task's: what `corral ladder` tries on it. No sandbox sees it. */
export const reservedField = 'corral';

/**
 * The item's top-level fields that a grader compares with, without repeats: what must be in every row, and what the
 * sandbox must never see. `command` and `http` graders get the whole item, so what they read cannot be told from here.
 */
export function graderFields(grader: Grader): readonly string[] {
  const references = graderLeaves(grader).flatMap((leaf) => referenceOf(leaf) ?? []);
  return [...new Set(references.map(topLevelField))];
}

/**
 * The fields of a dataset row that an environment reads, or `all` where a grader gets the whole row: two rows with the same values there
 * are the same row to it.
 */
export function fieldsRead(
  environment: Pick<Environment, 'grader' | 'expose' | 'dataset' | 'template' | 'graderTemplate' | 'demands'>,
): readonly string[] | 'all' {
  const { grader, expose, dataset, demands = {} } = environment;
  const getsAll = graderLeaves(grader).some(({ kind }) => kind === 'command' || kind === 'http');
  if (getsAll) return 'all';
  const told = dataset?.prompt === undefined ? [] : promptFields(dataset.prompt);
  return [
    ...expose,
    ...graderFields(grader),
    ...told.map((path) => path.split('.')[0] ?? ''),
    ...imageFields(environment),
    ...Object.values(demands),
  ];
}

const imageFields = ({
  template,
  graderTemplate,
}: Pick<Environment, 'template' | 'graderTemplate'>): readonly string[] =>
  [template, graderTemplate].flatMap((each) =>
    each !== undefined && isOpenTemplate(each) ? [each.image.field] : [],
  );

/** The field of `item.files` or `item.answer.files`: what holds the reference in the row. */
export function topLevelField(reference: string): string {
  return reference.split('.')[1] ?? '';
}

/** Calls are counted by gateways, what they took and printed by sandboxd. */
export const chargesForRunning = (grader: Grader): boolean =>
  gradersIn(grader).some(
    (each) => each.kind === 'penalty' && (each.time !== undefined || each.bytes !== undefined),
  );
