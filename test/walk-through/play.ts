import { parse, stringify } from 'yaml';
import { untilNodesAreReady } from '#infra/cluster/api.ts';
import { cutNode, joinNodeAgain } from '#infra/cluster/levers.ts';
import { until } from '#infra/cluster/machine/until.ts';
import { hubAddress } from '#infra/cluster/plan.ts';
import { whoseFailure } from '#infra/monitoring/dashboards/whose-failure.ts';
import { faster, filled, rulesFile } from '#infra/monitoring/rules/rules-file.ts';
import type { AlertName } from '#infra/monitoring/rules/rules.ts';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { type Prometheus, startPrometheus } from '../alerts/prometheus.ts';
import { type Recorder, startRecorder, type ToldAlert } from '../alerts/recorder.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { countingEnvironment, installRelease, type Release, type Values } from '../support/release.ts';
import { type Burst, type Found, rollouts, run, startBurst } from './burst.ts';
import { alertsText, commandOf, corralSays, learnedText, type Listed, traceOfLost } from './looks.ts';
import type { Scenes } from './page.ts';
import { dashboardText } from './panels.ts';

/*
 * A node dies during a burst, on a fleet that Helm installed into two nodes, beside a real Prometheus. Everything that the page
 * shows is what these printed.
 */

/** Every range and patience of the rules is divided by it: an hour is a minute. The page says so. */
const speed = 60;
const [kept, lost] = [{ 'kubernetes.io/hostname': 'n1' }, 'n2'];
const environment = 'repair';

/** The machinery stands on the node that stays: what becomes of a fleet without its Redis is another story. */
const valuesOf = (endpoint: string): Values => ({
  environments: {
    inline: {
      [environment]: {
        name: environment,
        sandbox: countingEnvironment.sandbox,
        tools: countingEnvironment.tools,
        grader: { kind: 'text', reference: 'item.answer' },
        pool: { min_ready: 8, max: 40 },
      },
    },
  },
  redis: { bundled: { nodeSelector: kept } },
  gateway: { nodeSelector: kept },
  controller: { nodeSelector: kept },
  tracing: { endpoint, ratio: 1 },
});

type Stage = {
  readonly corral: Release;
  readonly recorder: Recorder;
  readonly prometheus: Prometheus;
  readonly receiver: OtlpReceiver;
  readonly burst: Burst;
  readonly say: (line: string) => void;
};

/** Plays it in the hub of the test cluster; leaves the cluster as it was. */
export async function play(say: (line: string) => void): Promise<Scenes> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startOtlpReceiver(undefined, hubAddress));
  const recorder = stack.adopt(await startRecorder(), (one) => one.stop());
  say('helm install');
  const corral = stack.adopt(await installRelease('lab', valuesOf(receiver.endpoint)), (one) => one.remove());
  const prometheus = stack.adopt(
    await startPrometheus({
      namespace: corral.namespace,
      fleet: corral.name,
      rules: rulesOf(corral),
      alertmanagerPort: recorder.port,
    }),
    (one) => one.stop(),
  );
  await until(
    { what: 'a warm pool, and no alert of the installation', timeoutMs: 90_000, everyMs: 500 },
    async () => (await isWarm(prometheus)) && recorder.firing().length === 0,
  );
  const burst = stack.use(await startBurst(corral.gatewayUrl, corral.apiKey, environment));
  return await tell({ corral, recorder, prometheus, receiver, burst, say });
}

/** They look back for six hours, which is six minutes here; others hold them back. */
const slow = ['RolloutsLostSlow', 'ToolCallsFailSlowly'] as const satisfies readonly AlertName[];

type Rule = { readonly alert?: string };
type Rules = { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] };

function rulesOf({ namespace, name }: Release): string {
  const installed = { namespace, fleet: name, lostRollouts: '0.001', toolCalls: '0.001' };
  const text = faster(filled(rulesFile(), { ...installed, runbooks: 'docs/runbooks' }), speed);
  const { groups } = parse(text) as Rules;
  const left = groups.map((group) => ({ name: group.name, rules: group.rules.filter(isPlayed) }));
  return stringify({ groups: left }, { lineWidth: 0 });
}

const isPlayed = ({ alert = '' }: Rule) => !slow.some((one) => one === alert);

const isWarm = async (prometheus: Prometheus) =>
  (await prometheus.query('max (corral_fleet_pool{state="ready"}) >= 8')) > 0 &&
  (await prometheus.query('corral_build_info')) === 4;

async function tell(stage: Stage): Promise<Scenes> {
  const { corral, recorder, burst, say } = stage;
  const startMs = Date.now();
  const working = await untilManyAreOnTheNode(stage);
  say(`${working} rollouts work on ${lost}: it is cut off`);
  await cutNode(corral.cluster, lost);
  const cutMs = Date.now();
  const seen = await lookAroundThenJoin(stage, startMs);
  await untilNodesAreReady(corral.cluster);
  const readyMs = Date.now();
  const found = await burst.ended;
  const endedMs = Date.now();
  say('the burst is over');
  const noAlert = { what: 'the end of every alert', timeoutMs: 120_000, everyMs: 500 };
  await until(noAlert, async () => recorder.firing().length === 0);
  const moments: readonly Moment[] = [
    [cutMs, `the wire of node ${lost} is cut; ${working} of ${rollouts} rollouts work on it`],
    [seen.gaveUpMs, 'Kubernetes gives the node up'],
    [seen.joinedMs, 'the wire is fixed'],
    [readyMs, 'the node is Ready again'],
    [endedMs, 'the burst is over: every rollout is scored or discarded'],
  ];
  return { ...seen.scenes, ...(await lookBack(stage, found, cutMs, moments)) };
}

async function lookAroundThenJoin(stage: Stage, startMs: number) {
  try {
    const seen = await lookAround(stage, startMs);
    return { ...seen, joinedMs: Date.now() };
  } finally {
    await joinNodeAgain(stage.corral.cluster, lost);
    stage.say('the node is joined again');
  }
}

/** What is told of it when it is over. */
async function lookBack(
  { corral, recorder, receiver }: Stage,
  found: Found,
  cutMs: number,
  moments: readonly Moment[],
) {
  // A line in which the burst stood for five seconds before it: to rules that are sixty times as fast these are five minutes.
  const alerts = recorder.told().filter(({ fromMs }) => fromMs >= cutMs);
  const { rollout, text } = traceOfLost(receiver.spans);
  const listed = await corralSays(corral, 'rollouts', '--run', run, '--json');
  const all = [...moments, ...lossMoments(receiver), ...alerts.flatMap(alertMoments)];
  return {
    'what happened when': timeline(all, cutMs),
    'the alerts': alertsText(alerts, cutMs),
    'the rollout': await corralSays(corral, 'rollout', rollout, '--run', run),
    'its trace': text,
    'the run': await corralSays(corral, 'run', run),
    'what the trainer learns': learnedText(found, JSON.parse(listed) as readonly Listed[]),
  };
}

const enough = 8;

/** As many rollouts as a third of the burst, in the middle of their work. */
async function untilManyAreOnTheNode({ corral, burst }: Stage): Promise<number> {
  const onNode = async () => {
    const chosen = ['--selector=corral.dev/claimed=true', `--field-selector=spec.nodeName=${lost}`];
    const names = await corral.kubectl(['get', 'pods', ...sandboxesOf(corral), ...chosen, '--output=name']);
    return names.split('\n').filter((name) => name !== '').length;
  };
  const wait = { what: `${enough} rollouts on ${lost}`, timeoutMs: 90_000, everyMs: 500 };
  await Promise.race([until(wait, async () => (await onNode()) >= enough), endedTooEarly(burst)]);
  // All of the burst has begun: who waits is another story, with an alert of its own.
  await until({ what: 'a sandbox for everybody', timeoutMs: 60_000, everyMs: 500 }, () =>
    nobodyWaits(corral),
  );
  return onNode();
}

async function nobodyWaits(corral: Release): Promise<boolean> {
  const { waiting } = JSON.parse(await corralSays(corral, 'top', '--json')) as FleetAnswer;
  return waiting.rollouts === 0;
}

async function endedTooEarly({ ended }: Burst): Promise<never> {
  await ended;
  throw new Error(`the burst was over before there were ${enough} rollouts on ${lost}`);
}

const sandboxesOf = ({ name }: Release) => [`--namespace=${name}-sandboxes`];

const expected = ['RolloutsLostFast', 'SandboxesLost'] as const satisfies readonly AlertName[];

/** What is seen while the node is away, as soon as somebody is woken. */
async function lookAround({ corral, recorder, prometheus, say }: Stage, fromMs: number) {
  await until({ what: expected.join(' and '), timeoutMs: 120_000, everyMs: 200 }, async () =>
    expected.every((name) => recorder.firing().includes(name)),
  );
  say(`told: ${recorder.firing().join(', ')}`);
  const top = await corralSays(corral, 'top');
  const nodes = await corral.kubectl(['get', 'nodes']);
  const discarded = await corralSays(corral, 'rollouts', '--verdict', 'discard', '--limit', '5');
  const looked = { url: prometheus.url, fromMs, toMs: Date.now() };
  return {
    gaveUpMs: await gaveUpMs(corral),
    scenes: {
      'corral top': top,
      'the dashboard': await dashboardText(whoseFailure, looked),
      'the first look': `${discarded}\n\n${commandOf('kubectl get nodes', nodes)}`,
    },
  };
}

/** By the cluster's own word, which has whole seconds. */
async function gaveUpMs(corral: Release): Promise<number> {
  const condition = '{.status.conditions[?(@.type=="Ready")].lastTransitionTime}';
  return Date.parse(await corral.kubectl(['get', 'node', lost, `--output=jsonpath=${condition}`]));
}

type Moment = readonly [atMs: number, what: string];

const alertMoments = ({ name, fromMs, endMs }: ToldAlert): readonly Moment[] => [
  [fromMs, `alert ${name}`],
  [endMs, `alert ${name} has ended`],
];

function lossMoments({ spans }: OtlpReceiver): readonly Moment[] {
  const atMs = spans
    .filter(({ name, attributes }) => name === 'lose' && attributes['corral.effect'] === 'tainted')
    .map(({ startMs }) => startMs);
  const [firstMs, lastMs] = [Math.min(...atMs), Math.max(...atMs)];
  const within = `${((lastMs - firstMs) / 1000).toFixed(1)} s`;
  return [[firstMs, `${atMs.length} rollouts learn that their sandbox is lost, all within ${within}`]];
}

const timeline = (moments: readonly Moment[], cutMs: number): string =>
  moments
    .toSorted(([a], [b]) => a - b)
    .map(([atMs, what]) => `${String(Math.round((atMs - cutMs) / 1000)).padStart(4)} s  ${what}`)
    .join('\n');
