import { type TProperties, type TSchema, Type } from 'typebox';
import { ClusterSchema, PolicySchema } from '#src/environments/schema/operator.ts';
import { strict } from '#src/environments/schema/parts.ts';
import { inWordsOfHelm } from './words-of-helm.ts';

/*
 * What the chart's values may be. Closed everywhere: a mistyped name is refused with its place, instead of being a default
 * in silence. `clusterConfig` and `policy` are the schemas of the operator's own files. Only what Kubernetes itself
 * defines and checks (`resources`, `affinity`, …) is handed on as it stands.
 */

const text = Type.String();
const flag = Type.Boolean();
const names = Type.Array(Type.String({ minLength: 1 }));
const texts = Type.Record(Type.String(), Type.String());
const seconds = (maximum: number) => Type.Integer({ minimum: 0, maximum });
const count = Type.Integer({ minimum: 1 });
/** No value, for which Helm says null or nothing at all: the program's own default. */
const orDefault = (schema: TSchema) => Type.Optional(Type.Union([Type.Null(), schema]));
const port = Type.Integer({ minimum: 1, maximum: 65_535 });
const choice = (...words: readonly string[]) => Type.Enum([...words]);
const share = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,3}%$' })]);

/** A share that burn rates are multiples of: above a fiftieth, 14.4 times it is nothing that could be passed. `--set` makes it a text. */
const objective = Type.Union([
  Type.Number({ minimum: 0.000_01, maximum: 0.02 }),
  Type.String({ pattern: '^0[.](0[01][0-9]*|02)$' }),
]);

/** `--set` makes a text of a number with a point. */
const ratio = Type.Union([
  Type.Number({ minimum: 0, maximum: 1 }),
  Type.String({ pattern: '^(0|1|0?[.][0-9]{1,9})$' }),
]);

/** Kubernetes' own: it refuses a mistyped field there itself. */
const kubernetes = Type.Object({});
const kubernetesList = Type.Array(kubernetes);

const image = {
  registry: text,
  repository: text,
  tag: text,
  digest: Type.String({ pattern: '^(|sha256:[0-9a-f]{64})$' }),
};
const ownImage = { ...image, repository: Type.String({ minLength: 1 }) };

/** Where a Secret that is there already has something: without a name there is none. */
const secretRef = strict({ name: text, key: Type.String({ minLength: 1 }) });

/** Of gateways and controllers alike. */
const pods = {
  replicas: Type.Integer({ minimum: 0 }),
  logLevel: choice('debug', 'info', 'warn', 'error'),
  pdb: strict({ maxUnavailable: share }),
  resources: kubernetes,
  topologySpreadConstraints: kubernetesList,
  affinity: kubernetes,
  nodeSelector: texts,
  tolerations: kubernetesList,
  priorityClassName: text,
  podAnnotations: texts,
  extraEnv: kubernetesList,
  extraEnvFrom: kubernetesList,
  extraVolumes: kubernetesList,
  extraVolumeMounts: kubernetesList,
} satisfies TProperties;

/** What a request is held at most, and some more: `graceSeconds` below it breaks requests at each roll. */
const longestGraceS = 3_600;
/** The process takes no more; see services/gateway/config.ts. */
const longestDrainS = 300;

const ingress = strict({ enabled: flag, className: text, host: text, tlsSecret: text, annotations: texts });

const gateway = strict({
  ...pods,
  drainDelaySeconds: seconds(longestDrainS),
  // The process refuses a grace of nothing, and would not start.
  graceSeconds: Type.Integer({ minimum: 1, maximum: longestGraceS }),
  maxHeldRequests: orDefault(count),
  maxHeldBodyBytes: orDefault(count),
  maxFileBytes: orDefault(count),
  maxTenantRowBytes: orDefault(count),
  secretEnv: Type.Record(
    Type.String({ pattern: '^[A-Za-z0-9_]+$' }),
    strict({ secret: Type.String({ minLength: 1 }), key: Type.String({ minLength: 1 }) }),
    { additionalProperties: false },
  ),
  autoscaling: strict({
    kind: choice('none', 'hpa', 'keda'),
    min: count,
    max: count,
    heldRequests: count,
    prometheusAddress: text,
  }),
  service: strict({
    type: choice('ClusterIP', 'NodePort', 'LoadBalancer'),
    port,
    nodePort: orDefault(port),
    annotations: texts,
  }),
  ingress,
  httpRoute: strict({
    enabled: flag,
    parentRefs: kubernetesList,
    hostnames: names,
    annotations: texts,
    timeout: Type.String({ pattern: '^[0-9]{1,5}s$' }),
  }),
});

const controller = strict({
  ...pods,
  startBudget: orDefault(Type.Integer({ minimum: 1, maximum: 1_000 })),
  poolOverrides: Type.Record(
    Type.String(),
    strict({
      minReady: Type.Optional(Type.Integer({ minimum: 0 })),
      max: Type.Optional(Type.Integer({ minimum: 0 })),
    }),
  ),
});

const { affinity, nodeSelector, tolerations, priorityClassName, podAnnotations, extraEnv } = pods;
/** The program refuses others. */
const origin = Type.String({ pattern: '^https?://[^/@,]{1,255}$' });

const webConsole = strict({
  enabled: flag,
  origins: Type.Array(origin),
  logLevel: pods.logLevel,
  persistence: strict({ enabled: flag, size: Type.String({ minLength: 1 }), storageClass: text }),
  trajectoriesSecret: text,
  ingress,
  resources: kubernetes,
  affinity,
  nodeSelector,
  tolerations,
  priorityClassName,
  podAnnotations,
  extraEnv,
});

const redis = strict({
  bundled: strict({
    enabled: flag,
    image: strict(ownImage),
    maxmemory: Type.String({ pattern: '^[0-9]+(kb|mb|gb)$' }),
    resources: kubernetes,
    persistence: strict({ enabled: flag, size: text, storageClass: text, keepOnUninstall: flag }),
    nodeSelector: texts,
    tolerations: kubernetesList,
  }),
  url: Type.String({ pattern: '^(|rediss?(-sentinel)?://[^@]+)$' }),
  existingSecret: strict({
    name: text,
    urlKey: text,
    usernameKey: text,
    passwordKey: text,
    sentinelPasswordKey: text,
  }),
  tls: strict({ caSecret: secretRef }),
  mayEvict: flag,
});

/** All of cluster.yaml but what values of their own say. */
const clusterConfig = Type.Omit(ClusterSchema, ['namespace', 'sandboxd'], { additionalProperties: false });

const sandboxes = strict({
  namespace: strict({ name: text, create: flag }),
  quota: Type.Record(Type.String(), Type.Union([Type.String(), Type.Integer()])),
  disruptionBudget: choice('all', 'claimed', 'none'),
  priorityClass: strict({ create: flag, value: Type.Integer({ maximum: 1_000_000_000 }) }),
});

const environments = strict({
  inline: Type.Record(Type.String({ pattern: '^[-._a-zA-Z0-9]+$' }), Type.Union([text, kubernetes]), {
    additionalProperties: false,
  }),
  existingConfigMap: text,
  image: strict({ ...image, folder: Type.String({ pattern: '^/' }) }),
});

/** It stands between quotes or bare in a file of YAML. */
const place = Type.String({ pattern: '^[A-Za-z0-9._~:/?#@%&=+-]+$' });

const values = strict({
  // Helm hands them on to every chart.
  global: Type.Object({ imageRegistry: text }),
  fleet: Type.String({ pattern: '^(|[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?)$' }),
  nameOverride: text,
  docs: place,
  image: strict({ ...ownImage, pullPolicy: choice('Always', 'IfNotPresent', 'Never'), pullSecrets: names }),
  sandboxd: strict({
    delivery: choice('initContainer', 'imageVolume', 'baked'),
    folder: Type.String({ pattern: '^(?:|/.+)$' }),
    image: strict(ownImage),
  }),
  sandboxes,
  clusterConfig,
  policy: PolicySchema,
  environments,
  redis,
  fleetKey: strict({ existingSecret: secretRef }),
  keys: strict({ existingSecret: secretRef }),
  secrets: strict({ keepOnUninstall: flag }),
  gateway,
  controller,
  console: webConsole,
  eventLog: strict({
    to: Type.Array(choice('folder', 'stdout'), { minItems: 1, uniqueItems: true }),
    maxBytes: orDefault(count),
    sizeLimit: text,
    existingClaim: text,
  }),
  trajectories: strict({
    place: text,
    keepDays: Type.Integer({ minimum: 1, maximum: 3650 }),
    maxBytes: orDefault(count),
    region: text,
    endpoint: text,
    credentialsSecret: text,
    existingClaim: text,
  }),
  serviceAccount: strict({ annotations: texts }),
  podLabels: texts,
  networkPolicy: strict({
    enabled: flag,
    gatewayFrom: kubernetesList,
    consoleFrom: kubernetesList,
    metricsFrom: kubernetesList,
    gatewayEgress: kubernetesList,
    apiServerPorts: Type.Array(port, { minItems: 1 }),
    redisPorts: Type.Array(port, { minItems: 1 }),
  }),
  monitoring: strict({
    podMonitor: strict({ enabled: flag, labels: texts, interval: text }),
    rules: strict({
      enabled: flag,
      labels: texts,
      lostRollouts: objective,
      toolCalls: objective,
      runbooks: Type.Union([Type.Literal(''), place]),
    }),
    dashboards: strict({ enabled: flag, labels: texts, folder: text }),
  }),
  tracing: strict({
    endpoint: Type.String({ pattern: '^(|https?://[^@]+)$' }),
    headersSecret: secretRef,
    ratio: orDefault(ratio),
  }),
  preflight: strict({
    enabled: flag,
    keySecret: secretRef,
    egress: flag,
    holdSeconds: seconds(540),
    extraArgs: Type.Array(text),
  }),
  extraObjects: Type.Array(Type.Union([text, kubernetes])),
});

/** values.schema.json, as text. */
export const valuesSchema = (): string =>
  `${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...inWordsOfHelm(values) }, null, 2)}\n`;
