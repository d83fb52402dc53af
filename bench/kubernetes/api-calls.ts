const callsLine = /^corral_kubernetes_calls_total\{verb="(?<verb>\w+)",.*\} (?<count>\d+)$/;

const writeVerbs = ['create', 'patch', 'delete'] as const;
const readVerbs = ['get', 'list'] as const;

/** How often the Kubernetes API was asked. A watch is neither read nor write: it is what steady state is made of. */
export type ApiCalls = Readonly<Record<(typeof writeVerbs | typeof readVerbs)[number], number>>;

/** From a controller's own metrics, whatever the answers were. */
export function apiCalls(metrics: string): ApiCalls {
  const counts = { create: 0, patch: 0, delete: 0, get: 0, list: 0 };
  for (const line of metrics.split('\n')) {
    const { verb, count } = callsLine.exec(line)?.groups ?? {};
    if (isCounted(verb)) counts[verb] += Number(count);
  }
  return counts;
}

export function callsBetween(before: ApiCalls, after: ApiCalls): ApiCalls {
  const since = (verb: keyof ApiCalls) => after[verb] - before[verb];
  return {
    create: since('create'),
    patch: since('patch'),
    delete: since('delete'),
    get: since('get'),
    list: since('list'),
  };
}

export const writesIn = (calls: ApiCalls): number => sum(calls, writeVerbs);
export const readsIn = (calls: ApiCalls): number => sum(calls, readVerbs);

const sum = (calls: ApiCalls, verbs: readonly (keyof ApiCalls)[]) =>
  verbs.reduce((total, verb) => total + calls[verb], 0);

const counted: ReadonlySet<string | undefined> = new Set([...writeVerbs, ...readVerbs]);
const isCounted = (verb: string | undefined): verb is keyof ApiCalls => counted.has(verb);
