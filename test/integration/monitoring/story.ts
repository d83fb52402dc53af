import type { Duration } from '#infra/monitoring/rules/rule.ts';

/**
 * What a fleet's metrics were: by `name{labels}`, values in promtool's short form, one each step (`0+5x20`: 0, 5, … 100). The
 * labels that every scraped pod has are added.
 */
export type Series = Readonly<Record<string, string>>;

/** What somebody is told: labels beyond those of the rule, and the summary as it is read. */
export type Told = { readonly labels?: Readonly<Record<string, string>>; readonly summary: string };

type World = {
  /** The situation, as a test's name. */
  readonly when: string;
  readonly series: Series;
};

export type Fires = World & { readonly at: Duration; readonly told: Told };
/** A near miss: the same with one thing that makes it no reason to tell anybody. */
export type Silent = World & { readonly at: Duration };
export type Resolves = World & { readonly firesAt: Duration; readonly goneAt: Duration };

/** What each alert must show. */
export type Stories = {
  /** Time from one sample to the next, and between evaluations; 30 s unless the windows are of days. */
  readonly step?: Duration;
  readonly fires: readonly [Fires, ...Fires[]];
  readonly silent: readonly [Silent, ...Silent[]];
  readonly resolves: readonly [Resolves, ...Resolves[]];
};

export const scorable =
  'corral_verdicts_total{pod="g1",verdict="scorable",blame="none",code="none",environment="shell",suspected="none"}';
export const lostByUs =
  'corral_verdicts_total{pod="c1",verdict="discard",blame="infrastructure",code="sandbox_lost",environment="shell",suspected="none"}';
export const suspectedOfCommand =
  'corral_verdicts_total{pod="c1",verdict="discard",blame="infrastructure",code="sandbox_lost",environment="shell",suspected="command"}';
export const expiredByCaller =
  'corral_verdicts_total{pod="c1",verdict="discard",blame="caller",code="rollout_expired",environment="shell",suspected="none"}';

export const completedCalls =
  'corral_calls_settled_total{pod="g1",outcome="completed",blame="none",code="none",environment="shell"}';
export const callsFailedByUs =
  'corral_calls_settled_total{pod="c1",outcome="infrastructure_failure",blame="infrastructure",code="sandbox_lost",environment="shell"}';
