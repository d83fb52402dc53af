import { runId, type RunId, tenantId, type TenantId } from '#src/model/ids.ts';

/**
 * The only place where names of keys are made. Each entry is what stands between the fleet's prefix and the rest of
 * the name (an id, or nothing); scripts get the same table as `key`. What each key holds is in KEYS.md, whose rows are in tools/keys-page.
 */
export const keyNames = {
  redis: 'redis',
  recovered: 'recovered',
  contact: 'contact',
  unsure: 'unsure',
  nameless: 'nameless',
  full: 'full',
  wakeUps: 'wake-ups',
  work: 'work',
  replicated: 'replicated',

  rollout: 'rollout:',
  details: 'details:',
  row: 'row:',
  rowReaders: 'row-readers:',
  rowBytes: 'row-bytes:',
  newest: 'newest:',
  calls: 'calls:',
  inFlight: 'in-flight:',
  transcript: 'transcript:',
  setup: 'setup:',
  setupSent: 'setup-sent:',
  setupBytes: 'setup-bytes:',
  callDeadlines: 'call-deadlines',
  leases: 'leases',
  grants: 'grants',

  waiters: 'waiters',
  waitersOfRun: 'waiters-of-run:',
  graderWaiters: 'grader-waiters',
  grantable: 'grantable:',
  line: 'line:',
  turns: 'turns:',
  launchRuns: 'launch-runs',
  launchTemplates: 'launch-templates:',
  turn: 'turn',

  templates: 'templates',
  stocked: 'stocked',
  sandboxes: 'sandboxes',
  sandbox: 'sandbox:',
  moves: 'moves',
  moved: 'moved',
  starts: 'starts',
  starting: 'starting:',
  ready: 'ready:',
  held: 'held:',
  draining: 'draining',
  prewarm: 'prewarm:',
  breaker: 'breaker:',
  swaps: 'swaps:',
  unmet: 'unmet:',
  control: 'control:',
  dependency: 'dependency:',
  dependencyProbes: 'dependency-probes:',
  dependencyLoad: 'dependency-load:',
  judgeGuard: 'judge-guard:',
  lacking: 'lacking',
  plan: 'plan:',
  cost: 'cost',

  run: 'run:',
  runs: 'runs:',
  runLeases: 'run-leases',
  rollouts: 'rollouts:',
  open: 'open:',
  discards: 'discards:',
  groups: 'groups:',
  group: 'group:',

  aliases: 'aliases:',
  environment: 'environment:',
  environments: 'environments',
  newEnvironment: 'new-environment:',
  newEnvironments: 'new-environments',
  environment2: 'environment-2:',
  environments2: 'environments-2',
  chosen: 'chosen',
  choices: 'choices',
  catalog: 'catalog:',
  catalogs: 'catalogs',
  catalogHolders: 'catalog-holders',

  gateway: 'gateway:',
  gateways: 'gateways',
  gatewayState: 'gateway-state:',
  inHand: 'in-hand:',
  endAsked: 'end-asked:',
  olderHeard: 'older-heard',

  processes: 'processes',
  processesHeard: 'processes-heard',
  eventLogs: 'event-logs',
  eventLogsHeard: 'event-logs-heard',
} as const;

export type KeyName = keyof typeof keyNames;

/** Builds this fleet's keys. */
export type Keys = (name: KeyName, rest?: string) => string;

/** All keys of a fleet share one hash tag, so that they also live together on a cluster. */
export function keysOf(fleet: string): Keys {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(fleet)) {
    throw new RangeError(`a fleet is named by 1 to 63 of a-z, 0-9 and "-", not "${fleet}"`);
  }
  const prefix = `corral:{${fleet}}:`;
  return (name, rest = '') => `${prefix}${keyNames[name]}${rest}`;
}

/** A run as scripts know it: the first two parts of its rollouts' keys. */
export function runName(tenant: TenantId, run: RunId): string {
  return `${encodeURIComponent(tenant)}/${encodeURIComponent(run)}`;
}

/** The inverse of {@link runName}. */
export function runOf(name: string): { readonly tenant: TenantId; readonly run: RunId } {
  const [tenant = '', run = ''] = name.split('/').map(decodeURIComponent);
  return { tenant: tenantId(tenant), run: runId(run) };
}
