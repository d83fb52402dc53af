import { machineryAlerts } from './alerts/machinery.ts';
import { objectiveAlerts } from './alerts/objectives.ts';
import { othersAlerts } from './alerts/others.ts';
import { sandboxAlerts } from './alerts/sandboxes.ts';
import { objectiveRecordings, poolRecordings } from './recorded.ts';
import type { Alert, Recording } from './rule.ts';

export const alerts = { ...objectiveAlerts, ...sandboxAlerts, ...machineryAlerts, ...othersAlerts };
export type AlertName = keyof typeof alerts;
export const alertNames = Object.keys(alerts) as readonly AlertName[];
export const alertOf = (name: AlertName): Alert => alerts[name];

export type Group = {
  readonly name: string;
  readonly recordings: readonly Recording[];
  readonly alerts: readonly AlertName[];
};

const named = (some: Readonly<Partial<Record<AlertName, Alert>>>) =>
  Object.keys(some) as readonly AlertName[];

/** Rules of one group are evaluated one after another, so alerts stand in the group of what they read. */
export const groups: readonly Group[] = [
  { name: 'corral.objectives', recordings: objectiveRecordings, alerts: named(objectiveAlerts) },
  { name: 'corral.sandboxes', recordings: poolRecordings, alerts: named(sandboxAlerts) },
  { name: 'corral.machinery', recordings: [], alerts: named(machineryAlerts) },
  { name: 'corral.others', recordings: [], alerts: named(othersAlerts) },
];
