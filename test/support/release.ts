import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { run } from '#infra/cluster/machine/run.ts';
import { clusterOfTest } from './cluster.ts';
import { type Faces, facesOf } from './faces.ts';
import { chartFolder } from './helm.ts';

/** A fleet that Helm installed into the cluster of this test: all of it, Redis too, runs in pods. */
export type Release = Faces & {
  readonly cluster: Cluster;
  readonly name: string;
  readonly namespace: string;
  readonly gatewayUrl: string;
  readonly apiKey: string;
  /** helm on this release: `helm(['test'])`; its words are the result, or the error's message. */
  helm(args: readonly string[]): Promise<string>;
  /** `helm upgrade` with the values that it was installed with, and these above them. `chart`: by default that of this checkout. */
  upgrade(values: Values, args?: readonly string[], chart?: readonly string[]): Promise<string>;
  /** kubectl in the release's namespace. */
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  /** Names of all objects of the fleet, of every kind that can be listed, in all namespaces. */
  objects(): Promise<readonly string[]>;
  /** Removes the release and its namespaces. */
  remove(): Promise<void>;
};

export type Values = Readonly<Record<string, unknown>>;

const image = (repository: string, tag = 'dev') => ({ registry: 'corral.local', repository, tag });

/** The score is the number of lines that commands have written to `log`: how often they have run. */
export const countingEnvironment = {
  sandbox: {
    image: 'corral.local/bare:dev',
    cpu: { request: '10m', limit: '1' },
    memory: { request: '128Mi', limit: '128Mi' },
    disk: '64Mi',
  },
  tools: { shell: { builtin: 'shell', timeout: '60s' } },
  grader: {
    kind: 'command',
    command: ['sh', '-c', 'as-policy sh -c "cat log | wc -l" > "$CORRAL_SCORE_FILE"'],
    on_exit: 'discard',
    on_timeout: 'discard',
    on_out_of_memory: 'discard',
    on_broken: 0,
  },
  pool: { min_ready: 4, max: 40 },
} as const;

/** What a small cluster without a registry, without storage and without a load balancer needs. */
const valuesOfTest: Values = {
  image: { ...image('corral'), pullPolicy: 'Never' },
  sandboxd: { delivery: 'baked' },
  clusterConfig: { image_pull_policy: 'Never' },
  environments: { inline: { counting: { name: 'counting', ...countingEnvironment } } },
  redis: {
    bundled: {
      image: image('redis'),
      persistence: { enabled: false },
      resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '512Mi' } },
    },
  },
  gateway: {
    service: { type: 'NodePort' },
    resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1536Mi' } },
  },
  // No plugin of this cluster enforces network policies, and preflight would rightly say so.
  preflight: { egress: false },
  controller: { resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '768Mi' } } },
};

/** Installs with what a small cluster needs and these values above it. */
export const installRelease = (
  name: string,
  values: Values = {},
  chart: readonly string[] = [chartFolder],
): Promise<Release> => installChart(name, merged(valuesOfTest, values), chart);

/**
 * `helm install --wait` into a namespace of its own; resolves when every pod of the fleet is ready. `chart`: where it is installed
 * from, as Helm takes it, with flags.
 */
export async function installChart(name: string, given: Values, chart: readonly string[]): Promise<Release> {
  const cluster = await clusterOfTest();
  const namespace = `${name}-${process.pid}`;
  const helm = (args: readonly string[], stdin?: string) =>
    run(['helm', ...args, `--namespace=${namespace}`], { stdin, timeoutMs: helmTimeoutMs });
  const inNamespace = (args: readonly string[], stdin?: string) =>
    kubectl(cluster, [`--namespace=${namespace}`, ...args], stdin);
  const remove = async () => {
    await helm(['uninstall', name, '--wait', '--ignore-not-found', '--timeout=120s']);
    await kubectl(cluster, ['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found']);
  };
  try {
    const how = ['--create-namespace', '--wait', '--timeout=200s', '--values=-'];
    await helm(['install', name, ...chart, ...how], JSON.stringify(given));
    const gatewayUrl = await urlOf(cluster, inNamespace, name);
    const apiKey = await keyOf(inNamespace, name);
    return {
      ...facesOf(gatewayUrl, apiKey),
      cluster,
      name,
      namespace,
      gatewayUrl,
      apiKey,
      helm: ([command = '', ...args]) => helm([command, name, ...args]),
      upgrade: (changes, args = [], to = [chartFolder]) =>
        helm(
          ['upgrade', name, ...to, '--wait', '--timeout=200s', '--values=-', ...args],
          JSON.stringify(merged(given, changes)),
        ),
      kubectl: inNamespace,
      objects: () => objectsOf(cluster, name),
      remove,
    };
  } catch (error) {
    const pods = await inNamespace(['get', 'pods', '--output=wide']).catch(String);
    await remove().catch(() => undefined);
    throw new Error(`the release did not come up:\n${pods}`, { cause: error });
  }
}

/** Longer than helm itself waits for anything: it says best what it waited for. */
const helmTimeoutMs = 220_000;

type Kubectl = (args: readonly string[]) => Promise<string>;

/** Its port on a node stands for the load balancer that this cluster does not have. */
async function urlOf(cluster: Cluster, inNamespace: Kubectl, name: string): Promise<string> {
  const port = await inNamespace([
    'get',
    'service',
    `${name}-gateway`,
    '--output=jsonpath={.spec.ports[0].nodePort}',
  ]);
  return `http://${cluster.nodes[0]?.address ?? ''}:${port}`;
}

async function keyOf(inNamespace: Kubectl, name: string): Promise<string> {
  const path = String.raw`--output=jsonpath={.data.operator\.key}`;
  const base64 = await inNamespace(['get', 'secret', `${name}-keys`, path]);
  return Buffer.from(base64, 'base64').toString().trim();
}

async function objectsOf(cluster: Cluster, name: string): Promise<readonly string[]> {
  const kinds = await kubectl(cluster, ['api-resources', '--verbs=list', '--output=name']);
  const of = [
    `--selector=corral.dev/fleet=${name}`,
    '--all-namespaces',
    '--output=name',
    '--ignore-not-found',
  ];
  // Events are what is said of objects, and go by themselves.
  const listed = words(kinds).filter((kind) => !kind.startsWith('events'));
  return words(await kubectl(cluster, ['get', listed.join(','), ...of]));
}

const words = (text: string) => text.split(/\s+/).filter((word) => word !== '');

/** Null takes a value away, so that the chart's own counts. */
function merged(base: Values, changes: Values): Values {
  const both: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(changes)) {
    const before = both[key];
    if (value === null) delete both[key];
    else both[key] = isValues(before) && isValues(value) ? merged(before, value) : value;
  }
  return both;
}

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
