import { promptFields } from '#src/model/dataset.ts';
import type { Environment } from '#src/model/environment.ts';
import { graderFields } from '#src/model/grader-leaves.ts';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import { score } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { eachOf, play, type Played } from '../proving/play.ts';
import { environmentIn, mustBeIn, realRowsOf, type Row, type RowChoice } from '../proving/rows.ts';
import { onStage, type Proof } from '../proving/stage.ts';
import { gradeUntouched } from '../proving/training-job.ts';
import { judgeLadder, meanOf, type Rung } from './judge.ts';
import { completed, loadPolicies, policiesFile, type Policy, type Secrets } from './policies.ts';
import { docsPage } from '#src/platform/docs.ts';

type LadderPlan = {
  readonly environment: string;
  readonly environmentsDir: string;
  readonly rows: RowChoice;
  /** Rollouts at the same time. */
  readonly atOnce: number;
};

/** One policy of a ladder, as the report shows it. */
type RungReport = {
  readonly policy: string;
  readonly kind: string;
  readonly rollouts: number;
  readonly mean: number | null;
  /** Mean over the rows of the best copy of each. */
  readonly best: number | null;
  readonly min: number | null;
  readonly max: number | null;
  /** Mean of a scored rollout. */
  readonly calls: number | null;
  readonly expected: readonly [number, number] | null;
  readonly mistakes: readonly string[];
};

export type LadderReport = {
  readonly environment: string;
  readonly rows: number;
  readonly ok: boolean;
  readonly rungs: readonly RungReport[];
};

/** Plays every policy on every row, and tells whether the rungs stand in order. */
export async function ladder(connection: Connection, plan: LadderPlan): Promise<LadderReport> {
  const { rows, policies } = await whatIsPlayed(plan, { alone: false });
  const stage = { environment: plan.environment, purpose: 'ladder' };
  const rungs = await onStage(connection, stage, async (proof) => {
    refuseUnknownTools(policies, proof);
    return climb(proof, policies, rows, plan.atOnce);
  });
  const judged = judgeLadder(rungs);
  const reports = rungs.map((rung, index) => reportOf(rung, judged[index]?.mistakes ?? []));
  return {
    environment: plan.environment,
    rows: rows.length,
    ok: reports.every(({ mistakes }) => mistakes.length === 0),
    rungs: reports,
  };
}

/** The rows and policies of an environment; what it lacks is its author's to give. `alone`: `nothing` is enough. */
export async function whatIsPlayed(
  { environment, environmentsDir, rows }: Omit<LadderPlan, 'atOnce'>,
  { alone }: { readonly alone: boolean },
) {
  const known = await environmentIn(environmentsDir, environment);
  const file = policiesFile(environmentsDir, environment);
  const given = loadPolicies(file, secretsOf(known));
  const real = realRowsOf(environment, known, environmentsDir, rows);
  if (real === null) {
    if (known === undefined) await mustBeIn(environmentsDir, environment);
    throw new CommandError(
      `${environment} has no rows to play on`,
      'yours',
      `name some in its dataset, put some into ${environmentsDir}/${environment}.items.jsonl, or name a file with --items`,
    );
  }
  const policies = completed(given, real);
  if (alone || policies.some(({ kind }) => kind !== 'nothing')) return { known, rows: real, policies };
  throw new CommandError(
    `${environment} has no policy to play`,
    'yours',
    `write ${file}, or give each row corral: {reference, cheating}; see ${docsPage('proving.md')}`,
  );
}

/** Without the environment's file, only the row's own `corral` is known to be secret. */
function secretsOf(known: Environment | undefined): Secrets {
  const prompt = known?.dataset?.prompt;
  const told = prompt === undefined ? null : promptFields(prompt).map((path) => path.split('.')[0] ?? '');
  return { graded: known === undefined ? [] : graderFields(known.grader), told };
}

function refuseUnknownTools(policies: readonly Policy[], { job }: Proof): void {
  const tools = job.functions.map((each) => each.function.name);
  for (const { name, steps } of policies) {
    const unknown = steps.find(({ tool }) => !tools.includes(tool));
    if (unknown === undefined) continue;
    throw new CommandError(
      `policy ${name} calls ${unknown.tool}, which is not a tool here`,
      'yours',
      `there is: ${tools.join(', ')}`,
    );
  }
}

type Seen = Rung & {
  readonly calls: readonly number[];
  /** The best score of each row that has one. */
  readonly best: readonly number[];
};

async function climb(
  proof: Proof,
  policies: readonly Policy[],
  rows: readonly Row[],
  atOnce: number,
): Promise<readonly Seen[]> {
  const copies = policies.flatMap((policy) =>
    rows.flatMap((row, index) =>
      Array.from({ length: policy.copies }, (_, before) => {
        const copy = before + 1;
        return { policy, row, copy, id: `${index + 1}-${copy}` };
      }),
    ),
  );
  const played = await eachOf(copies, atOnce, async ({ policy, row, copy, id }) => {
    const traceId = `${proof.run}-${policy.name}-${id}`;
    return { policy, row, ...(await playOne(proof, traceId, policy, row, copy)) };
  });
  return policies.map(({ name, kind, expect }) => {
    const own = played.filter(({ policy }) => policy.name === name);
    const scored = own.flatMap(({ ended }) => ('score' in ended ? [ended] : []));
    return {
      name,
      kind,
      expect,
      scores: scored.map(({ score }) => score),
      calls: scored.map(({ calls }) => calls),
      best: rows.flatMap((row) => {
        const ofRow = own.flatMap(({ row: played, ended }) =>
          played === row && 'score' in ended ? [ended.score] : [],
        );
        return ofRow.length === 0 ? [] : [Math.max(...ofRow)];
      }),
      lost: own.flatMap(({ ended }) => ('lost' in ended ? [ended.lost] : [])),
      broken: own.find(({ broken }) => broken !== null)?.broken ?? null,
    };
  });
}

/** Where a policy does nothing, how its score came about is looked at too. */
async function playOne(
  proof: Proof,
  traceId: string,
  policy: Policy,
  row: Row,
  copy: number,
): Promise<{ readonly ended: Played; readonly broken: string | null }> {
  const ended = await play(proof, traceId, row, policy, copy);
  if (policy.kind !== 'nothing' || 'lost' in ended) return { ended, broken: null };
  const { client, environment } = proof;
  const untouched = { client, environment, item: row.item, rolloutId: `${traceId}-untouched` };
  return { ended, broken: (await gradeUntouched(untouched, '')).broken };
}

function reportOf(
  { name, kind, scores, lost, calls, best, expect }: Seen,
  mistakes: readonly string[],
): RungReport {
  const some = scores.length > 0;
  return {
    policy: name,
    kind,
    rollouts: scores.length + lost.length,
    mean: meanOf(scores),
    best: meanOf(best),
    min: some ? Math.min(...scores) : null,
    max: some ? Math.max(...scores) : null,
    calls: meanOf(calls),
    expected: expect,
    mistakes,
  };
}

export function describeLadder({ environment, rows, ok, rungs }: LadderReport, width: number): string {
  const title = `ladder of ${environment}, ${rows} ${rows === 1 ? 'row' : 'rows'}`;
  const broken = rungs.filter(({ mistakes }) => mistakes.length > 0).length;
  const verdict = ok
    ? 'The rungs stand in order.'
    : `${broken} of ${rungs.length} are not where they should be.`;
  return [title, '', linesOf(rungs, ok ? width : Infinity), '', verdict].join('\n');
}

const linesOf = (rungs: readonly RungReport[], width: number): string =>
  table(
    rungs,
    [
      { title: 'policy', of: ({ policy }) => policy },
      { title: 'kind', of: ({ kind }) => kind },
      { title: 'rollouts', of: ({ rollouts }) => String(rollouts), right: true },
      { title: 'mean', of: ({ mean }) => score(mean), right: true },
      { title: 'min', of: ({ min }) => score(min), right: true },
      { title: 'max', of: ({ max }) => score(max), right: true },
      { title: 'calls', of: ({ calls }) => (calls === null ? '–' : calls.toFixed(1)), right: true },
      { title: 'expected', of: ({ expected }) => (expected === null ? '–' : rangeOf(expected)), right: true },
      {
        title: 'verdict',
        of: ({ mistakes }) => (mistakes.length === 0 ? 'ok' : `NOT OK: ${mistakes.join('; ')}`),
      },
    ],
    width,
  );

const rangeOf = ([low, high]: readonly [number, number]): string =>
  low === high ? String(low) : `${low} to ${high}`;
