/** One kind of call of the Kubernetes API, as a controller counts them. */
export type ApiCalls = {
  readonly verb: string;
  readonly resource: string;
  readonly code: string;
  readonly count: number;
};

const line = /^corral_kubernetes_calls_total\{verb="(.*?)",resource="(.*?)",code="(.*?)"\} (\d+)$/gm;

/** A controller's whole /metrics page. */
export async function metricsOf(controllerUrl: string): Promise<string> {
  return (await fetch(`${controllerUrl}/metrics`)).text();
}

/** What a controller has asked the Kubernetes API so far, from its /metrics, where troubles stand at 0 from the start. */
export async function apiCallsOf(controllerUrl: string): Promise<readonly ApiCalls[]> {
  const text = await metricsOf(controllerUrl);
  const told = [...text.matchAll(line)].map(([, verb = '', resource = '', code = '', count = '']) => ({
    verb,
    resource,
    code,
    count: Number(count),
  }));
  return told.filter(({ count }) => count > 0);
}

const writing: ReadonlySet<string> = new Set(['create', 'patch', 'delete']);

/** What was written, not what was refused or did not arrive. */
export const writesIn = (calls: readonly ApiCalls[]): number =>
  calls
    .filter(({ verb, code }) => writing.has(verb) && code.startsWith('2'))
    .reduce((sum, { count }) => sum + count, 0);
