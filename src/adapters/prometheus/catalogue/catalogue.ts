import { toldByBoth } from './both.ts';
import { toldByControllers, toldOfFleet } from './controller.ts';
import { toldByGateways } from './gateway.ts';

/**
 * Every metric of Corral. Instruments are made from it alone, so nothing is counted under a name or with a label that is
 * not here, and docs/metrics.md is written from it.
 */
export const catalogue = { ...toldByGateways, ...toldByControllers, ...toldOfFleet, ...toldByBoth } as const;

export type MetricName = keyof typeof catalogue;

type KindOf<Name extends MetricName> = (typeof catalogue)[Name]['kind'];

/** Names of metrics of this kind. */
export type NameOf<Kind extends KindOf<MetricName>> = {
  [Name in MetricName]: KindOf<Name> extends Kind ? Name : never;
}[MetricName];

type LabelName<Name extends MetricName> = (typeof catalogue)[Name]['labels'][number]['names'][number];

/** What has to be said with each value of this metric. */
export type LabelsOf<Name extends MetricName> = Readonly<Record<LabelName<Name>, string>>;

export const metricNames = Object.keys(catalogue) as readonly MetricName[];
