import type { CallTruth, RolloutTruth } from './truth.ts';
import { foreignLines, readEvidence, saysWhyItMayNotHaveRun } from './evidence.ts';

/**
 * What must never be found:
 *
 *   scored_despite_failure       the policy went on, or was scored, on a machine that had lost its work
 *   ran_twice                    one call id was carried out twice
 *   shown_infrastructure_text    the policy read something that the machinery said
 */
export type Finding = {
  readonly kind: 'scored_despite_failure' | 'ran_twice' | 'shown_infrastructure_text';
  readonly rollout: string;
  readonly detail: string;
};

/** The score that the environment gives where the policy broke its own grader; no count of lines is below zero. */
export const brokenGraderScore = -1;

/** Judges one rollout by the evidence that its own commands wrote, and by nothing that Corral says of it. */
export function judge(truth: RolloutTruth): readonly Finding[] {
  return [...judgeCalls(truth), ...judgeScore(truth)];
}

/** The same without the score, for a grader that does not count. */
export function judgeCalls(truth: RolloutTruth): readonly Finding[] {
  return truth.calls.flatMap((call) => judgeCall(truth, call));
}

function judgeCall(truth: RolloutTruth, call: CallTruth): readonly Finding[] {
  if (call.shown === null) return [];
  const found = (kind: Finding['kind'], detail: string): Finding => ({
    kind,
    rollout: truth.rollout,
    detail: `${call.ids.join(', ')}: ${detail}`,
  });
  if (call.leaked) return [found('shown_infrastructure_text', call.shown.slice(0, 200))];
  const { ids, rest } = readEvidence(call.shown);
  const strange = strangeTextIn(call, ids, rest);
  return [
    ...repeatedIn(ids).map((id) => found('ran_twice', id)),
    ...wrongMachine(truth, call, ids).map((detail) => found('scored_despite_failure', detail)),
    ...(strange === null ? [] : [found('shown_infrastructure_text', strange.slice(0, 200))]),
  ];
}

function repeatedIn(ids: readonly string[]): readonly string[] {
  return ids.filter((id, place) => ids.indexOf(id) !== place);
}

/** An output without any evidence says nothing about the machine: its command was stopped before it could. */
function wrongMachine(truth: RolloutTruth, call: CallTruth, ids: readonly string[]): readonly string[] {
  if (ids.length === 0) return [];
  const sent = new Set(truth.calls.flatMap((each) => each.ids));
  const missing = [...ranBefore(truth, call.sentMs)].filter((id) => !ids.includes(id));
  const foreign = ids.filter((id) => !sent.has(id));
  return [
    ...missing.map((id) => `${id} had run and left no trace`),
    ...foreign.map((id) => `${id} is of another rollout`),
  ];
}

/** The calls that had provably run when this moment came: their ids stand in an output that had arrived. */
function ranBefore(truth: RolloutTruth, atMs: number): ReadonlySet<string> {
  const arrived = truth.calls.filter((call) => call.endedMs <= atMs && call.shown !== null && !call.leaked);
  return new Set(arrived.flatMap((call) => readEvidence(call.shown ?? '').ids));
}

function strangeTextIn(call: CallTruth, ids: readonly string[], rest: string): string | null {
  const foreign = foreignLines(rest);
  if (foreign.length > 0) return foreign.join('\n');
  const own = call.ids.some((id) => ids.includes(id));
  return own || saysWhyItMayNotHaveRun(rest) ? null : `no evidence of its own, and no word why: ${rest}`;
}

/** The score is the number of lines in the evidence file, so it must lie between what surely ran and what was sent. */
function judgeScore(truth: RolloutTruth): readonly Finding[] {
  if (truth.ending.kind !== 'scored') return [];
  const { score } = truth.ending;
  if (score === brokenGraderScore && truth.calls.some(({ mischief }) => mischief !== null)) return [];
  const ran = ranBefore(truth, Infinity).size;
  const sent = truth.calls.flatMap(({ ids }) => ids).length;
  const finding = (kind: Finding['kind'], detail: string) => [{ kind, rollout: truth.rollout, detail }];
  if (score < ran) return finding('scored_despite_failure', `scored ${score}, and ${ran} calls had run`);
  return score > sent ? finding('ran_twice', `scored ${score}, and ${sent} calls were sent`) : [];
}
