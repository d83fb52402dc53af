import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { faster, filled, rulesFile } from '#infra/monitoring/rules/rules-file.ts';
import type { AlertName } from '#infra/monitoring/rules/rules.ts';
import { panelTroubles } from '../support/panel-troubles.ts';
import type { Release } from '../support/release.ts';
import { type Fault, faults } from './faults.ts';
import { installFleet, playSome } from './fleet.ts';
import { commandsOfPages, wentWrong } from './pages.ts';
import { type Prometheus, startPrometheus } from './prometheus.ts';
import { blaming, type Recorder, startRecorder } from './recorder.ts';

/*
 * Real faults of a real fleet, a real Prometheus, and what would reach somebody's pager. Every range and every patience of the
 * rules is divided by 60, so that an hour is a minute; promtool plays the same rules as they are (test/integration/monitoring).
 */
const speed = 60;

/** They look at six hours and three days: six minutes and more here, in which every later fault would meet them. Promtool has them. */
const tooSlow = [
  'RolloutsLostSlow',
  'ToolCallsFailSlowly',
  'RewardJumps',
] as const satisfies readonly AlertName[];

/** They measure slowness, which on a machine of two cores that plays a whole cluster says nothing of the fault. */
const ofTheMachine = ['SlowSandbox', 'GatewayFull'] as const satisfies readonly AlertName[];

let corral: Release;
let recorder: Recorder;
let prometheus: Prometheus;

beforeAll(async () => {
  corral = await installFleet();
  recorder = await startRecorder();
  prometheus = await startPrometheus({
    namespace: corral.namespace,
    fleet: corral.name,
    rules: rulesOf(corral),
    alertmanagerPort: recorder.port,
  });
  // Gateways and controllers, two of each.
  const everyPod = async () => {
    const targets = await prometheus.targets();
    expect(await prometheus.query('corral_build_info'), targets.join('\n')).toBe(4);
  };
  await vi.waitFor(everyPod, 60_000);
});
afterAll(async () => {
  await prometheus?.stop();
  await recorder?.stop();
  await corral?.remove();
});

const told = () => recorder.firing().filter((name) => !among(ofTheMachine, name));
const among = (names: readonly AlertName[], name: AlertName) => names.includes(name);

/** What is left of a fault: its windows, a breaker's pause, a Redis that fills again. */
const quiet = () => expect.poll(told, { timeout: 150_000, message: 'alerts that do not end' }).toEqual([]);

/** Sandboxes are ready again, so that no rollout of the next fault waits for another reason than that. */
const missing =
  'max by (template) (corral_fleet_pool{state="ready"}) < max by (template) (corral_fleet_pool_limit{kind="min"})';
async function settled(): Promise<void> {
  await expect.poll(() => prometheus.query(missing), { timeout: 90_000, message: 'pools' }).toBe(0);
  await quiet();
}

const few = process.env['CORRAL_ALERT_TESTS'] === 'few';

async function lookAround(): Promise<void> {
  const call = { trace: 'looked-at', call: 'c1', command: 'echo', environment: 'counting' };
  await corral.rft.call(call, { 'x-corral-run': 'nightly-7' });
  const { lines, queries } = await commandsOfPages();
  expect(await wentWrong(corral, lines)).toEqual([]);
  for (const query of queries)
    await prometheus.query(query.replaceAll('fleet="lab"', `fleet="${corral.name}"`));
}
if (!few) test('whatever a page tells somebody to look at can be looked at', lookAround);

/** Rates need two looks at a counter, and some counters are born with the first that they count: so it is played until they have. */
async function everyPanelHasData(): Promise<void> {
  const fromMs = Date.now();
  const playAndLook = async () => {
    await playSome(corral, `${Date.now()}`);
    const prometheusUrl = prometheus.url;
    return panelTroubles({ prometheusUrl, fromMs, toMs: Date.now(), inCluster: true });
  };
  await expect.poll(playAndLook, { timeout: 120_000, interval: 2_000 }).toEqual([]);
}
if (!few)
  test('every panel of the dashboards has its data, and none of their queries is refused', everyPanelHasData);

const chosen = Object.entries(faults).filter(([, { quick }]) => !few || quick);

test.each(chosen)(
  '%s: it is told, nobody else is blamed, and it is over when it is fixed',
  async (name, fault) => {
    await settled();
    const fired = recorder.listen();
    const fix = await fault.make(corral);
    try {
      await expect
        .poll(() => [...fired.keys()], { timeout: 120_000 })
        .toEqual(expect.arrayContaining([...fault.fires]));
    } finally {
      await fix();
    }
    const fixedMs = performance.now();
    await quiet();
    console.log(
      `${name}: ${line(fired, fault)}; over ${seconds(performance.now() - fixedMs)} s after it was fixed`,
    );
    const names = [...fired.keys()].filter((one) => !among(ofTheMachine, one));
    expect(blaming(names, fault.blame)).toEqual([]);
  },
);

function line(fired: ReadonlyMap<AlertName, number>, { fires }: Fault): string {
  const after = (names: readonly AlertName[]) =>
    names.map((name) => `${name} after ${Math.round(fired.get(name) ?? 0)} s`).join(', ');
  const others = [...fired.keys()].filter((name) => !fires.includes(name));
  return `${after(fires)}${others.length === 0 ? '' : ` (beside it ${after(others)})`}`;
}

const seconds = (ms: number) => Math.round(ms / 1000);

type Rules = {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly { readonly alert?: string }[];
  }[];
};

function rulesOf({ namespace, name }: Release): string {
  const values = {
    namespace,
    fleet: name,
    lostRollouts: '0.001',
    toolCalls: '0.001',
    runbooks: 'docs/runbooks',
  };
  const { groups } = parse(faster(filled(rulesFile(), values), speed)) as Rules;
  const kept = groups.map((group) => ({
    name: group.name,
    rules: group.rules.filter(({ alert }) => !(tooSlow as readonly string[]).includes(alert ?? '')),
  }));
  return stringify({ groups: kept }, { lineWidth: 0 });
}
