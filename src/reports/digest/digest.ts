import type { FindingLine, RunAnswer } from '#src/protocol/console/run.ts';
import type { LoggedRollout } from '#src/reports/findings/collect.ts';
import { findingsOf } from '#src/reports/findings/findings.ts';
import { columnsOf } from './columns.ts';
import { pairsOf, partsOf, placesOf } from './habits.ts';
import { cellsOf, itemsOf } from './items.ts';
import { callsOf, meanReward, stepLines } from './steps.ts';
import { type RunView, viewOf } from './view.ts';

export type Logged = {
  /** Without voided rollouts. */
  readonly rollouts: readonly LoggedRollout[];
  readonly voided: number;
  readonly missing: RunAnswer['missing'];
};

export type Digest = Omit<RunAnswer, 'run' | 'rev' | 'reading'>;

/** What the page of a run shows, and the view that it was made of. Pure; findings are the ones that `corral run` prints. */
export function digestOf(logged: Logged): { readonly digest: Digest; readonly view: RunView } {
  const view = viewOf(logged.rollouts);
  const items = itemsOf(view);
  const newest = view.rollouts.at(-1);
  const digest = {
    environment: newest?.environment ?? '',
    version: newest?.version ?? '',
    counts: countsOf(view, logged.voided),
    since_ms: view.rollouts[0]?.openedAtMs ?? null,
    until_ms: view.rollouts.reduce<number | null>((last, one) => latestOf(last, one.endedAtMs), null),
    mean: meanReward(view),
    steps: stepLines(view),
    verbs: [...view.verbs],
    items: [...items.names],
    cells: cellsOf(view, items),
    pairs: pairsOf(view),
    places: placesOf(view),
    parts: partsOf(view),
    findings: findingLines(view, logged),
    missing: logged.missing,
    columns: columnsOf(view, items),
  };
  return { digest, view };
}

const latestOf = (one: number | null, other: number | null): number | null =>
  other === null ? one : Math.max(one ?? other, other);

function countsOf({ rollouts, ...view }: RunView, voided: number): RunAnswer['counts'] {
  return {
    rollouts: rollouts.length,
    unfinished: rollouts.filter(({ endedAtMs }) => endedAtMs === null).length,
    scored: rollouts.filter(({ score }) => score !== null).length,
    discarded: rollouts.filter(({ loss }) => loss !== null).length,
    voided,
    calls: callsOf({ rollouts, ...view }),
  };
}

function findingLines({ rollouts, steps }: RunView, { missing }: Logged): FindingLine[] {
  const rowOf = new Map(rollouts.map(({ id }, row) => [id, row]));
  const reasons = new Set(missing.map(({ keeper, why }) => `${keeper}: ${why}`));
  return findingsOf({ rollouts, missing: [...reasons] }).map(({ ids, ...finding }) => {
    const rows = ids.flatMap((id) => rowOf.get(id) ?? []);
    const by_step = steps.map(() => 0);
    for (const row of rows) {
      const step = rollouts[row]?.step ?? 0;
      by_step[step] = (by_step[step] ?? 0) + 1;
    }
    const { kind, weight, title, what, text, rollouts: count } = finding;
    return { kind, weight, title, what, text, rollouts: count, rows, by_step };
  });
}
