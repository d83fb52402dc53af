import { type AlertName, alertOf } from '#infra/monitoring/rules/rules.ts';
import type { ToldAlert } from '../alerts/recorder.ts';
import { runCorral } from '../support/command-line.ts';
import type { ReceivedSpan } from '../support/otlp-receiver.ts';
import { printTree } from '../support/span-tree.ts';
import { type Found, run } from './burst.ts';

/* What an operator looks at, as text for the page. */

/** As wide as a page's column. */
const columns = 110;

export type Asked = { readonly gatewayUrl: string; readonly apiKey: string };

/** A command of `corral` and what it prints. Throws what it says when it fails. */
export async function corralSays({ gatewayUrl, apiKey }: Asked, ...args: readonly string[]): Promise<string> {
  const { exitCode, printed, said } = await runCorral(
    [...args, '--url', gatewayUrl, '--key', apiKey],
    columns,
  );
  if (exitCode !== 0) throw new Error(`corral ${args.join(' ')}: ${said}`);
  return args.includes('--json') ? printed : commandOf(`corral ${args.join(' ')}`, printed);
}

/** A command as it is typed, with what it printed below. */
export const commandOf = (line: string, printed: string): string =>
  `$ ${line}\n${printed
    .split('\n')
    .map((one) => one.trimEnd())
    .join('\n')
    .trimEnd()}`;

/** What Alertmanager is told, those first that wake somebody; below it what its example holds back, since another explains it. */
export function alertsText(alerts: readonly ToldAlert[], cutMs: number): string {
  const names = new Set(alerts.map(({ name }) => name));
  const explains = (name: AlertName) => (alertOf(name).consequenceOf ?? []).filter((one) => has(names, one));
  const [told, held] = [true, false].map((isTold) =>
    alerts.filter(({ name }) => (explains(name).length === 0) === isTold),
  );
  return [
    ...(told ?? []).toSorted((a, b) => critical(b) - critical(a)).map((alert) => alertText(alert, cutMs)),
    ...(held ?? []).map(
      (alert) =>
        `held back: ${alert.name}, ${after(alert.fromMs, cutMs)}; ${explains(alert.name)[0]} explains it`,
    ),
  ].join('\n\n');
}

const critical = ({ name }: ToldAlert) => Number(alertOf(name).severity === 'critical');

const has = (names: ReadonlySet<string>, name: string) => names.has(name);

export const after = (atMs: number, cutMs: number): string =>
  `${Math.round((atMs - cutMs) / 1000)} s after the cut`;

function alertText({ name, labels, annotations, fromMs }: ToldAlert, cutMs: number): string {
  const { severity, blame, alertname, ...rest } = labels;
  const others = Object.entries(rest).map(([label, value]) => `${label}=${value}`);
  return [
    `${alertname ?? name}: ${severity ?? ''}, blame ${blame ?? ''}, ${after(fromMs, cutMs)}`,
    `  ${annotations['summary'] ?? ''}`,
    `  ${annotations['description'] ?? ''}`,
    `  ${annotations['runbook_url'] ?? ''}   ${others.join(' ')}`,
  ].join('\n');
}

/** The trace of one rollout whose sandbox was lost under a call: of all such the shortest, which is the easiest to read. */
export function traceOfLost(spans: readonly ReceivedSpan[]): {
  readonly rollout: string;
  readonly text: string;
} {
  const traces = [...Map.groupBy(spans, ({ traceId }) => traceId).values()].filter(isWholeLoss);
  const [trace] = traces.toSorted((a, b) => a.length - b.length);
  if (trace === undefined) throw new Error('no trace has a call that was lost, its loss and its verdict');
  const { traceId, attributes } = rootOf(trace);
  const [rollout, tenant, attempt] = ['rollout', 'tenant', 'attempt'].map((name) =>
    String(attributes[`corral.${name}`]),
  );
  const head = `trace ${traceId}: rollout ${rollout}, run ${run}, tenant ${tenant}, attempt ${attempt}`;
  return { rollout: rollout ?? '', text: `${head}\n\n${printTree(trace, { times: true }).trimEnd()}` };
}

const rootOf = (trace: readonly ReceivedSpan[]): ReceivedSpan => {
  const root = trace.find(({ name }) => name === 'rollout');
  if (root === undefined) throw new Error('a trace without its rollout');
  return root;
};

/** Of our own run, with a call that failed in its sandbox, told by whoever saw the sandbox go, and with its verdict. */
function isWholeLoss(trace: readonly ReceivedSpan[]): boolean {
  const failed = (name: string) =>
    trace.some((span) => span.name === name && span.attributes['corral.code'] === 'sandbox_lost');
  const ofRun = trace.some(({ name, attributes }) => name === 'rollout' && attributes['corral.run'] === run);
  return ofRun && failed('rollout') && failed('lose') && failed('tool_call');
}

/** As `corral rollouts --json` has it. */
export type Listed = { readonly rolloutId: string; readonly score: number | null };

/**
 * What a trainer can judge who knows nothing of the node. Not whether failures of the model were discarded: a call in which a policy
 * did wrong, and which the node took along, looks to it as if somebody hid what the policy did.
 */
const zeros = ['scored_despite_failure', 'ran_twice', 'infrastructure_text_shown'];

/** What the trainer has of its burst, and what it would have learned if lost rollouts were zeros. */
export function learnedText(found: Found, listed: readonly Listed[]): string {
  const ofBurst = listed.filter(({ rolloutId }) => !isTrial(rolloutId));
  const scores = ofBurst.flatMap(({ score }) => (score === null ? [] : [score]));
  const sum = scores.reduce((total, score) => total + score, 0);
  const answers = Object.entries(found.answers).map(([status, count]) => `${count} × ${status}`);
  const codes = Map.groupBy(found.discards, ({ what, blame }) => `${what}, blame ${blame ?? 'nobody'}`);
  const rows: readonly (readonly [string, string | number])[] = [
    ['rollouts', `${found.rollouts}: ${found.scored} scored, ${found.discards.length} discarded`],
    ...[...codes].map(([what, ones]) => [`  ${what}`, ones.length] as const),
    ['answers, each repeat counted', answers.join(', ')],
    ['mean reward, the lost ones left out', mean(sum, scores.length)],
    ['mean reward, had each lost one been a 0', mean(sum, found.rollouts)],
    ...zeros.map((zero) => [zero.replaceAll('_', ' '), found.zeros[zero] ?? '–'] as const),
  ];
  return rows.map(([what, value]) => `${what.padEnd(72)}${value}`).join('\n');
}

/** The load test tries both answers alone before its burst. */
const isTrial = (rollout: string) => rollout.startsWith('trial_');

const mean = (sum: number, count: number) => (count === 0 ? '–' : (sum / count).toFixed(2));
