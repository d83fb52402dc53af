import { type Environment, promisedMemoryOf } from '#src/model/environment.ts';
import type { PoolOverrides } from '../fleet/parts.ts';
import { bytes, duration } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { sampleArguments, sampleItem } from '../proving/made-up.ts';

/** What `corral up` says when the fleet is ready. */
export type UpSummary = {
  readonly gatewayUrl: string;
  readonly apiKey: string;
  /** Null: the fleet is for this machine only. */
  readonly beyond: BeyondThisMachine | null;
  readonly stateDir: string;
  /** With a code that logs in once; null: without a console. */
  readonly consoleUrl: string | null;
  readonly readyAfterMs: number;
  /** Which users a sandbox's processes are, and whether its limits hold. */
  readonly isolation: string;
  /** What this host cannot enforce; empty where it enforces everything. */
  readonly limitations: readonly string[];
  readonly environments: readonly EnvironmentLine[];
  /** Lines to copy into another terminal. */
  readonly tryThis: readonly string[];
};

export type BeyondThisMachine = {
  readonly url: string;
  readonly reach: string;
  readonly fingerprint: string | null;
  readonly firstKey: string | null;
};

type EnvironmentLine = {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly string[];
  readonly minReady: number;
  readonly max: number;
  /** What all that may be at once would be promised. */
  readonly memoryBytes: number;
};

export function environmentLine(environment: Environment, pool: PoolOverrides): EnvironmentLine {
  const { minReady, max } = { ...environment.pool, ...pool[environment.name] };
  return {
    name: environment.name,
    version: environment.version,
    tools: Object.keys(environment.tools),
    minReady,
    max,
    memoryBytes: max * promisedMemoryOf(environment.template),
  };
}

/** Where and how a caller at another terminal connects. */
export type WayIn = {
  readonly url: string;
  readonly key: string;
  /** A file to trust; null: none is needed. */
  readonly certificate: string | null;
};

/** A tool call and a grade of the same rollout, as a training job would send them. */
export function curlLines(environment: Environment, way: WayIn): readonly string[] {
  const [tool] = Object.values(environment.tools);
  if (tool === undefined) return [];
  const item = sampleItem(environment);
  const face = `${way.url}/rft/${environment.name}`;
  const call = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: tool.name,
    arguments: JSON.stringify(sampleArguments(tool)),
    item,
    trace_id: 'trace_1',
  };
  const output = { id: 'call_1', type: 'function', function: { name: tool.name, arguments: call.arguments } };
  const sample = { output_text: '', output_tools: [output] };
  return [
    curl(`${face}/tools/${tool.name}`, way, call),
    curl(`${face}/grade`, way, { sample, item, trace_id: 'trace_1' }),
  ];
}

function curl(url: string, { key, certificate }: WayIn, body: unknown): string {
  const quoted = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  const trust = certificate === null ? '' : `--cacert ${certificate} `;
  return `curl -s ${trust}${url} -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '${quoted}'`;
}

export function describeSummary(summary: UpSummary): string {
  const environments = table(summary.environments, [
    { title: 'environment', of: ({ name }) => name },
    { title: 'warm', of: ({ minReady }) => String(minReady), right: true },
    { title: 'at most', of: ({ max }) => String(max), right: true },
    { title: 'with memory', of: ({ memoryBytes }) => bytes(memoryBytes), right: true },
    { title: 'tools', of: ({ tools }) => tools.join(', ') },
  ]);
  return [
    `Ready after ${duration(summary.readyAfterMs)}.`,
    '',
    `gateway          ${summary.gatewayUrl}`,
    `development key  ${summary.apiKey}   (from this machine only)`,
    ...(summary.consoleUrl === null
      ? []
      : [`console          ${summary.consoleUrl}   (logs in once, within two minutes)`]),
    `state and logs   ${summary.stateDir}`,
    `isolation:       ${summary.isolation}`,
    ...(summary.beyond === null ? [] : describeBeyond(summary.beyond)),
    '',
    environments,
    `At most in all: ${bytes(summary.environments.reduce((sum, each) => sum + each.memoryBytes, 0))} of memory.`,
    '',
    ...describeLimitations(summary.limitations),
    '',
    ...describeTryThis(summary.tryThis),
    'Ctrl-C stops everything.',
  ].join('\n');
}

const describeBeyond = ({ url, reach, fingerprint, firstKey }: BeyondThisMachine): readonly string[] => [
  '',
  `beyond           ${url}   (keys of the key file only)`,
  `reachable from   ${reach}`,
  fingerprint === null
    ? 'certificate      none: keys and everything else pass unencrypted'
    : `certificate      SHA-256 ${fingerprint}`,
  ...(firstKey === null ? [] : [`first key        ${firstKey}   (shown only this once)`]),
];

const describeTryThis = (lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['Try in another terminal:', ...lines.map((line) => `  ${line}`), ''];

const describeLimitations = (limitations: readonly string[]): readonly string[] =>
  limitations.length === 0
    ? ['This host enforces every limit.']
    : ['This host cannot enforce everything:', ...limitations.map((sentence) => `  - ${sentence}`)];
