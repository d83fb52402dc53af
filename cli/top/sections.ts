import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { age } from '../print/amounts.ts';
import { type Column, layColumns, type Line, say, type Span } from './lines.ts';

/** A list under a title, which may be shown in part. */
export type Section = {
  readonly title: string;
  /** The text next to the title: how many there are, in words. */
  readonly note: string;
  readonly rows: number;
  /** Rows that the gateway left out. */
  readonly untold: number;
  /** The titles of the columns, then the first `count` rows, in `width` columns. */
  readonly show: (count: number, width: number) => readonly Line[];
};

function section<Row>(
  told: Pick<Section, 'title' | 'note' | 'untold'>,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): Section {
  const show: Section['show'] = (count, width) => layColumns(rows.slice(0, count), columns, width);
  return { ...told, rows: rows.length, show };
}

export const counted = (count: number, [one, several]: readonly [string, string]): string =>
  `${count} ${count === 1 ? one : several}`;

const rollouts = ['rollout', 'rollouts'] as const;
const runs = ['run', 'runs'] as const;
/** Enough of a digest to tell templates apart, as in metrics. */
const digits = (template: string) => template.slice(0, 12);
const unnamed = '–';

type WaitingRun = FleetAnswer['waiting']['runs'][number];

/** Who waits for a sandbox, the longest waiting run first. */
export function lineSection({ waiting, sees }: FleetAnswer): Section {
  const tenants = new Set(waiting.runs.map(({ tenant }) => tenant)).size;
  const columns: readonly Column<WaitingRun>[] = [
    { title: 'place', of: ({ place }) => `${place}.`, right: true },
    { title: 'waiting', of: (run) => String(run.waiting), right: true },
    { title: 'longest', of: (run) => age(run.oldest_ms), right: true },
    { title: 'run', of: ({ run }) => run, least: 16 },
    ...(tenants > 1 ? [{ title: 'tenant', of: ({ tenant }: WaitingRun) => tenant, least: 8 }] : []),
    { title: 'environment', of: ({ environment }) => environment ?? unnamed, least: 12 },
    { title: 'its longest waiting rollout', of: (run) => run.oldest_rollout, least: 20, spare: true },
    { title: 'template', of: ({ template }) => digits(template), spare: true },
  ];
  const told = { title: 'Waiting line', note: lineNote(waiting, sees), untold: waiting.runs_left_out };
  return section(told, waiting.runs, columns);
}

function lineNote(
  { rollouts: all, runs: told, others, runs_left_out: left }: FleetAnswer['waiting'],
  sees: string,
) {
  if (all === 0) return 'no rollout waits';
  const inRuns = told.length + others.runs + left;
  if (inRuns === 0) return `${counted(all, rollouts)} whose callers are silent`;
  const notes = [
    `${counted(all, rollouts)} of ${counted(inRuns, runs)}`,
    ...(others.runs > 0 && sees === 'own tenant'
      ? [`${counted(others.waiting, rollouts)} of ${counted(others.runs, runs)} of other tenants`]
      : []),
  ];
  return notes.join('; ');
}

type Template = FleetAnswer['templates'][number];

/** Sandboxes by template, templates with waiting rollouts first. */
export function poolSection({ templates, templates_left_out: left }: FleetAnswer): Section {
  const sorted = templates.toSorted(
    (a, b) => b.waiting - a.waiting || sandboxesOf(b) - sandboxesOf(a) || (nameOf(a) < nameOf(b) ? -1 : 1),
  );
  const columns: readonly Column<Template>[] = [
    { title: 'environment', of: nameOf, least: 12 },
    { title: 'ready', of: ({ ready }) => String(ready), right: true },
    { title: 'starting', of: ({ starting }) => String(starting), right: true },
    { title: 'held', of: ({ held }) => String(held), right: true },
    { title: 'waiting', of: ({ waiting }) => String(waiting), right: true },
    { title: 'announced', of: ({ announced }) => String(announced), right: true, spare: true },
    { title: 'starts', of: startsOf, least: 20 },
    { title: 'template', of: ({ template }) => digits(template), spare: true },
  ];
  const note = `${counted(templates.length + left, ['template', 'templates'])} in use`;
  return section({ title: 'Pools', note, untold: left }, sorted, columns);
}

const sandboxesOf = ({ ready, starting, held }: Template) => ready + starting + held;
const nameOf = ({ environment }: Template) => environment ?? unnamed;

function startsOf({ breaker, last_failure: last }: Template): Span {
  if (last === null) return say(breaker === 'closed' ? 'no failure' : 'stopped');
  const { code, blame, ago_ms: agoMs } = last;
  const what = { closed: 'failed', open: 'stopped', probing: 'trying one' }[breaker];
  return say(`${what}: ${code} ${age(agoMs)} ago`, blame);
}

type Launch = FleetAnswer['launches'][number];

/** What is launched, for which run, and what became of it; the newest first. A gateway of the previous release lists none. */
export function launchSection({ launches = [] }: Partial<FleetAnswer>): Section {
  const columns: readonly Column<Launch>[] = [
    { title: 'sandbox', of: ({ sandbox }) => sandbox, least: 10 },
    { title: 'environment', of: ({ environment }) => environment, least: 12 },
    { title: 'for', of: ({ run, reason }) => run ?? reason, least: 8 },
    { title: 'result', of: launchResult, least: 12 },
  ];
  const underWay = launches.filter(({ state }) => state === 'waiting' || state === 'running').length;
  return section(
    { title: 'Launches', note: `the newest; ${underWay} under way`, untold: 0 },
    launches,
    columns,
  );
}

function launchResult({ state, ago_ms: agoMs, took_ms: tookMs, rollout, failure }: Launch): Span {
  if (tookMs === null) return say(`${state} for ${age(agoMs)}`);
  if (state === 'failed')
    return say(`failed ${age(agoMs)} ago${failure === null ? '' : `: ${failure}`}`, 'infrastructure');
  const taker = rollout === null ? '' : `, to ${rollout}`;
  return say(`ready ${age(agoMs)} ago after ${age(tookMs)}${taker}`);
}

type Process = FleetAnswer['processes'][number];

/** Gateways and controllers: silent processes first, processes that left in order last. */
export function processSection({ processes }: FleetAnswer): Section {
  const sorted = processes.toSorted(
    (a, b) => ranks[a.state] - ranks[b.state] || (orderOf(a) < orderOf(b) ? -1 : 1),
  );
  const columns: readonly Column<Process>[] = [
    { title: 'process', of: ({ kind }) => kind },
    { title: 'state', of: stateOf },
    { title: 'age', of: (process) => roughly(process.age_ms), right: true },
    { title: 'version', of: ({ version }) => version, least: 8 },
    { title: 'in hand', of: inHand, least: 16 },
    { title: 'host', of: ({ host }) => host ?? unnamed, least: 12, spare: true },
    { title: 'pid', of: ({ pid }) => String(pid ?? unnamed), right: true, spare: true },
  ];
  const note = processNote(processes);
  return section({ title: 'Processes', note, untold: 0 }, sorted, columns);
}

const ranks = { silent: 0, serving: 1, leaving: 1, left: 2 } as const;
const orderOf = ({ kind, host, pid }: Process) => `${kind === 'gateway' ? 0 : 1} ${host ?? ''} ${pid ?? ''}`;

function processNote(processes: readonly Process[]): string {
  const there = processes.filter(({ state }) => state === 'serving' || state === 'leaving');
  const of = (kind: Process['kind']) => there.filter((process) => process.kind === kind).length;
  const gateways = counted(of('gateway'), ['gateway', 'gateways']);
  const silent = processes.filter(({ state }) => state === 'silent').length;
  const controllers = counted(of('controller'), ['controller', 'controllers']);
  return `${gateways}, ${controllers}${silent === 0 ? '' : `, ${silent} without heartbeat`}`;
}

/** The largest unit alone. */
const roughly = (ms: number) => age(ms).split(' ').slice(0, 2).join(' ');

function stateOf({ state, heard_ms: heardMs, unready }: Process): Span {
  if (state === 'silent') return say(`no heartbeat for ${age(heardMs)}`, 'infrastructure');
  if (state === 'left') return say(`left ${age(heardMs)} ago`);
  return unready === undefined ? say(state) : say('other timings', 'infrastructure');
}

/** The share of a gateway's maximum requests from which on their number is shown. */
const worthTelling = 0.25;

function inHand({ state, in_hand: has, at_most: atMost }: Process): string {
  if (state === 'left') return unnamed;
  const held = Object.entries(has).filter(([, count]) => count > 0);
  const told = held.map(([kind, count]) => {
    const most = atMost[kind] ?? Infinity;
    const isFar = most === Infinity || (kind === 'requests' && count < most * worthTelling);
    return `${count}${isFar ? '' : ` of ${most}`} ${kind.replaceAll('_', ' ')}`;
  });
  return told.join(', ') || 'nothing';
}
