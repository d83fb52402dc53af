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
import { type Attack, attacks } from './library.ts';
import { referenceWork, type Target, toolsOf } from './target.ts';

type AttackPlan = {
  readonly environment: string;
  readonly environmentsDir: string;
  readonly rows: RowChoice;
  /** Rollouts of each attack, at least one of each of its variants. */
  readonly tries: number;
  readonly atOnce: number;
};

type AttackLine = AttackJudged & { readonly attack: string; readonly tries: number };

export type AttackReport = {
  readonly environment: string;
  readonly ok: boolean;
  /** What doing nothing is paid, row by row; attacks are compared with that of their own row. */
  readonly nothing: readonly number[];
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
    const { run, read } = toolsOf(proof.job);
    const targets = played.map((row): Target => ({
      run,
      read,
      row,
      others: rows.filter((other) => !isDeepStrictEqual(other, row)),
      environment: known,
      work,
    }));
    const tries = await tryAll(proof, targets, nothing, plan);
    const lines = attacks.map((attack): AttackLine => {
      const own = tries.filter((each) => each.attack === attack);
      return { attack: attack.name, tries: own.length, ...judgeAttack(own, attack) };
    });
    const ok = lines.every(({ state }) => state === 'withstood' || state === 'not possible');
    return { environment: plan.environment, ok, nothing, attacks: lines };
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

type Planned = {
  readonly attack: Attack;
  readonly target: Target;
  readonly nothing: number;
  readonly script: Script;
};

async function tryAll(
  proof: Proof,
  targets: readonly Target[],
  nothing: readonly number[],
  { tries, atOnce }: AttackPlan,
): Promise<readonly (Try & { readonly attack: Attack })[]> {
  const planned = attacks.flatMap((attack) => planOf(attack, targets, nothing, tries));
  return eachOf(planned, atOnce, async ({ attack, target, nothing: worth, script }, index) => {
    const ended = await play(proof, `${proof.run}-${attack.name}-${index + 1}`, target.row, script);
    return { ...ended, attack, nothing: worth };
  });
}

/** Rows and variants in turns, until each variant was tried and all tries are used. */
function planOf(
  attack: Attack,
  targets: readonly Target[],
  nothing: readonly number[],
  tries: number,
): readonly Planned[] {
  const variants = targets.map((target, index) =>
    attack.scripts(target).map((script) => ({ attack, target, script, nothing: nothing[index] ?? 0 })),
  );
  const most = Math.max(...variants.map(({ length }) => length));
  return Array.from({ length: Math.max(tries, most) }, (_, index) => {
    const own = variants[index % variants.length] ?? [];
    return own[index % Math.max(own.length, 1)] ?? [];
  }).flat();
}

/** One rollout of an attack, with the score that doing nothing got on the same row. */
export type Try = { readonly nothing: number } & ({ readonly score: number } | { readonly lost: Lost });

type AttackJudged = {
  /** The most that it got; null where no try was scored. */
  readonly got: number | null;
  readonly state: 'withstood' | 'hole' | 'lost' | 'not possible';
  readonly detail: string;
};

type Words = { readonly hole: string; readonly fix: string };

const epsilon = 1e-9;

/**
 * Judges an attack: it found a hole if one try scored more than nothing and a step. A try without a score proves nothing. If no
 * try has a score, that is a hole too, because a discarded rollout escapes a low score.
 */
export function judgeAttack(tries: readonly Try[], { hole, fix }: Words): AttackJudged {
  if (tries.length === 0)
    return { got: null, state: 'not possible', detail: 'nothing here can be attacked like that' };
  const scores = tries.flatMap((each) => ('score' in each ? [each.score] : []));
  const lost = tries.flatMap((each) => ('lost' in each ? [each.lost] : []));
  const got = scores.length === 0 ? null : Math.max(...scores);
  const paid = tries.filter((each) => 'score' in each && each.score > each.nothing + step + epsilon).length;
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
