import {
  acquaint,
  type AcquaintDeps,
  type Acquainted,
  acquaintWith,
  type Caller,
  checkSameEnvironment,
  type Opening,
  ownerOf,
  type RolloutRef,
} from '../claiming/acquaint.ts';
import { Failure } from '../failure/failure.ts';
import type { Item } from '../model/grader.ts';
import type { Written } from '../model/written.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { type GradeWork, readSample } from './job.ts';
import { isOver } from '../model/rollout.ts';
import { rowOf } from '../claiming/dataset-row.ts';
import { unseenCalls } from './check-calls.ts';

/** A grading as asked for: `open` is given on the RFT face, whose grader may be the first to name a rollout. */
export type GradeAsked = {
  readonly rollout: RolloutRef;
  readonly open: Opening | null;
  readonly sample: Written;
};

/**
 * Finds what is to be graded. A rollout that nobody knows is graded only if it had no call that can have run: whatever
 * calls it had, we lost, and a score would be made up. Throws `rollout_unknown`, and what `acquaint` throws.
 */
export async function planGrade(deps: AcquaintDeps, caller: Caller, asked: GradeAsked): Promise<GradeWork> {
  const rollout = await known(deps, caller, asked);
  const item = asked.open?.item ?? (await storedRow(deps, rollout.record));
  const { claim, environment, keyId } = rollout;
  return { claim, environment, item, sample: asked.sample, keyId };
}

/** `record` null: nobody knew it before. */
type Graded = Omit<Acquainted, 'exposed'> & { readonly record: RolloutRecord | null };

async function known(deps: AcquaintDeps, caller: Caller, asked: GradeAsked): Promise<Graded> {
  const { rollout, attempt } = asked.rollout;
  const record = await deps.claims.find(ownerOf(caller, rollout, 1), attempt);
  if (record !== null) return opened(await acquaintWith(deps, caller, record), record, asked.open);
  if (asked.open === null) throw unknown(caller, asked, 0);
  const fresh = await acquaint(deps, caller, asked.rollout, asked.open);
  const calls = unseenCalls(readSample(asked.sample), fresh.environment.tools, []).length;
  if (calls > 0) throw unknown(caller, asked, calls);
  return { ...fresh, record: null };
}

function opened(rollout: Omit<Acquainted, 'exposed'>, record: RolloutRecord, open: Opening | null): Graded {
  if (open !== null) checkSameEnvironment(rollout.environment, open.environment);
  return { ...rollout, record };
}

/** One that is over is not graded again: its score is stored, or it has none. */
async function storedRow({ claims }: AcquaintDeps, record: RolloutRecord | null): Promise<Item | null> {
  return record === null || isOver(record.state) ? null : rowOf(claims, record);
}

function unknown(caller: Caller, asked: GradeAsked, calls: number): Failure {
  const message = `rollout ${asked.rollout.rollout} of run ${caller.run} is not known here, so it is not scored`;
  const why = calls > 0 ? `; the platform counts ${calls} calls of it` : '; open it first';
  return new Failure('rollout_unknown', message + why, { evidence: { calls_named: calls } });
}
