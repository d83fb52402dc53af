import type { MirrorPlan } from './plan.ts';
import type { Upstream } from './upstream.ts';

/** Whether a server of mirrors fails, asked by node itself. */
export type Probe = (origin: string) => Promise<boolean>;

/** A probe that takes longer has failed. */
export const mirrorProbeMs = 5_000;

/** Asks for the first address of the server, which answers below 500 if it works. Requests that fail at one time share a probe. */
export function createProbe({ origins }: MirrorPlan, upstream: Pick<Upstream, 'get'>): Probe {
  const running = new Map<string, Promise<boolean>>();
  return (origin) => {
    const found = running.get(origin);
    if (found !== undefined) return found;
    const path = origins.find((each) => each.origin === origin)?.prefixes[0] ?? '/';
    const probing = fails(upstream, new URL(path, origin)).finally(() => running.delete(origin));
    running.set(origin, probing);
    return probing;
  };
}

async function fails(upstream: Pick<Upstream, 'get'>, url: URL): Promise<boolean> {
  try {
    const answer = await upstream.get(
      url,
      { method: 'HEAD', headers: {} },
      AbortSignal.timeout(mirrorProbeMs),
    );
    answer.on('error', () => undefined).resume();
    return (answer.statusCode ?? 500) >= 500;
  } catch {
    return true;
  }
}
