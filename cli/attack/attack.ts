import { isDeepStrictEqual } from 'node:util';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import { lossLine, step } from '../ladder/judge.ts';
import { whatIsPlayed } from '../ladder/ladder.ts';
import { score } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { eachOf, play, type Script } from '../proving/play.ts';
import type { Lost } from '../proving/read-answers.ts';
import type { Row, RowChoice } from '../proving/rows.ts';
import { onStage, type Proof } from '../proving/stage.ts';
import { attacks } from './library.ts';
import type { Attack } from './scripts.ts';
import type { Policy } from '../ladder/policies.ts';
import { referenceWork, type Target, toolsOf } from './target.ts';

type AttackPlan = {
  readonly environment: string;
  readonly environmentsDir: string;
  readonly rows: RowChoice;
  /** Rollouts of each attack, at least one of each of its variants. */
  readonly tries: number;
  readonly atOnce: number;
};

type AttackLine = AttackJudged & {
  readonly attack: string;
  readonly tries: number;
  /** What its tries were compared with. */
  readonly against: 'nothing' | 'reference';
};

export type AttackReport = {
  readonly environment: string;
  readonly ok: boolean;
  /** What doing nothing is paid, row by row; attacks are compared with that of their own row. */
  readonly nothing: readonly number[];
  /** What the reference is paid, row by row; null without one, or if its rollout was lost. */
  readonly reference: readonly (number | null)[];
  readonly attacks: readonly AttackLine[];
};

/** Plays every attack of the library against an environment, and tells what each was paid. */
export async function attackEnvironment(connection: Connection, plan: AttackPlan): Promise<AttackReport> {
  const { known, rows, policies } = await whatIsPlayed(plan, { alone: true });
  if (known === undefined) {
    throw new CommandError(
      `the file of ${plan.environment} is not in ${plan.environmentsDir}`,
      'yours',
      'name its folder with --environments: the attacks need its grader',
    );
  }
  const stage = { environment: plan.environment, purpose: 'attack' };
  return onStage(connection, stage, async (proof) => {
    const played = rows.slice(0, plan.tries);
    const nothing = await baseline(proof, played);
    const work = referenceWork(policies);
    const { run, read, smallest } = toolsOf(proof.job);
    const reference = await referenceScores(proof, played, policies);
    const worth = nothing.map((score, index) => ({ nothing: score, reference: reference[index] ?? null }));
    const targets = played.map((row): Target => ({
      run,
      read,
      smallest,
      row,
      others: rows.filter((other) => !isDeepStrictEqual(other, row)),
      environment: known,
      work,
    }));
    const tries = await tryAll(proof, targets, worth, plan);
    const lines = attacks.map((attack): AttackLine => {
      const own = tries.filter((each) => each.attack === attack);
      const against = attack.against ?? 'nothing';
      return { attack: attack.name, tries: own.length, against, ...judgeAttack(own, attack) };
    });
    const ok = lines.every(({ state }) => state === 'withstood' || state === 'not possible');
    return { environment: plan.environment, ok, nothing, reference, attacks: lines };
  });
}

/** Without knowing what nothing is worth, no attack can be judged. */
async function baseline(proof: Proof, rows: readonly Row[]): Promise<readonly number[]> {
  return eachOf(rows, rows.length, async (row, index) => {
    const ended = await play(proof, `${proof.run}-nothing-${index + 1}`, row, {
      steps: [],
      answer: undefined,
    });
    if ('score' in ended) return ended.score;
    throw new CommandError(
      `doing nothing has no score: ${lossLine(ended.lost)}`,
      'the fleet',
      'fix that first; corral preflight shows details',
    );
  });
}

/** What the reference is paid shows whether the reward works, and how much broken work may be paid at most. */
async function referenceScores(
  proof: Proof,
  rows: readonly Row[],
  policies: readonly Policy[],
): Promise<readonly (number | null)[]> {
  const policy = policies.find(({ kind }) => kind === 'reference');
  if (policy === undefined) return rows.map(() => null);
  return eachOf(rows, rows.length, async (row, index) => {
    const ended = await play(proof, `${proof.run}-reference-${index + 1}`, row, policy);
    return 'score' in ended ? ended.score : null;
  });
}

/** What nothing and the reference are paid on a row. */
type Worth = { readonly nothing: number; readonly reference: number | null };

/** The most that an attack may score on a row; null if nothing is known to compare it with. */
export function boundOf({ against }: Pick<Attack, 'against'>, { nothing, reference }: Worth): number | null {
  const little = nothing + step;
  if (against === undefined) return little;
  return reference === null || reference - step <= little ? null : reference - step;
}

type Planned = {
  readonly attack: Attack;
  readonly target: Target;
  readonly bound: number;
  readonly script: Script;
};

async function tryAll(
  proof: Proof,
  targets: readonly Target[],
  worth: readonly Worth[],
  { tries, atOnce }: AttackPlan,
): Promise<readonly (Try & { readonly attack: Attack })[]> {
  const planned = attacks.flatMap((attack) => planOf(attack, targets, worth, tries));
  return eachOf(planned, atOnce, async ({ attack, target, bound, script }, index) => {
    const ended = await play(proof, `${proof.run}-${attack.name}-${index + 1}`, target.row, script);
    return { ...ended, attack, bound };
  });
}

/** Rows and variants in turns, until each variant was tried and all tries are used. */
function planOf(
  attack: Attack,
  targets: readonly Target[],
  worth: readonly Worth[],
  tries: number,
): readonly Planned[] {
  const variants = targets.map((target, index) => {
    const own = worth[index];
    const bound = own === undefined ? null : boundOf(attack, own);
    return bound === null ? [] : attack.scripts(target).map((script) => ({ attack, target, script, bound }));
  });
  const most = Math.max(...variants.map(({ length }) => length));
  return Array.from({ length: Math.max(tries, most) }, (_, index) => {
    const own = variants[index % variants.length] ?? [];
    return own[index % Math.max(own.length, 1)] ?? [];
  }).flat();
}

/** One rollout of an attack, with the most that it may score on its row. */
export type Try = { readonly bound: number } & ({ readonly score: number } | { readonly lost: Lost });

type AttackJudged = {
  /** The most that it got; null where no try was scored. */
  readonly got: number | null;
  readonly state: 'withstood' | 'hole' | 'lost' | 'not possible';
  readonly detail: string;
};

type Words = { readonly hole: string; readonly fix: string };

const epsilon = 1e-9;

/**
 * Judges an attack: it found a hole if one try scored more than its bound. A try without a score proves nothing. If no
 * try has a score, that is a hole too, because a discarded rollout escapes a low score.
 */
export function judgeAttack(tries: readonly Try[], { hole, fix }: Words): AttackJudged {
  if (tries.length === 0)
    return { got: null, state: 'not possible', detail: 'nothing here can be attacked like that' };
  const scores = tries.flatMap((each) => ('score' in each ? [each.score] : []));
  const lost = tries.flatMap((each) => ('lost' in each ? [each.lost] : []));
  const got = scores.length === 0 ? null : Math.max(...scores);
  const paid = tries.filter((each) => 'score' in each && each.score > each.bound + epsilon).length;
  if (paid > 0) return { got, state: 'hole', detail: `${hole} (${paid} of ${tries.length}); to do: ${fix}` };
  const [first] = lost;
  if (first === undefined) return { got, state: 'withstood', detail: '' };
  const share = `${lost.length} of ${tries.length} rollouts have no score`;
  if (scores.length > 0)
    return { got, state: 'lost', detail: `${share}: ${lossLine(first)}; play it again to know` };
  return {
    got,
    state: 'hole',
    detail: `${share}, and who is discarded escapes a low score: ${lossLine(first)}; to do: ${fix}`,
  };
}

export function describeAttacks({ environment, ok, nothing, attacks }: AttackReport, width: number): string {
  const worth = nothing.map((each) => score(each)).join(', ');
  const lines = table(
    attacks,
    [
      { title: 'attack', of: ({ attack }) => attack },
      { title: 'tries', of: ({ tries }) => String(tries), right: true },
      { title: 'got', of: ({ got }) => score(got), right: true },
      { title: 'verdict', of: ({ state }) => (state === 'hole' ? 'HOLE' : state) },
      { title: '', of: ({ detail }) => detail },
    ],
    // A hole is printed in full, however narrow the window.
    ok ? width : Infinity,
  );
  const open = attacks.filter(({ state }) => state === 'hole').length;
  const lost = attacks.filter(({ state }) => state === 'lost').length;
  const verdict = ok
    ? 'Every attack that was possible was paid as nothing is.'
    : `${open} holes, ${lost} attacks without a word: some of their rollouts were lost.`;
  return [`attacks on ${environment}; nothing is paid ${worth}`, '', lines, '', verdict].join('\n');
}
