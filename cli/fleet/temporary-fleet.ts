import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';

/**
 * Fleets that last as long as the process that started them: the demo's, the benches', the soak test's.
 *
 * Gives one a new folder, which is removed when it has stopped, or does not start. Stopping twice is harmless.
 */
export async function inOwnFolder<Started extends { readonly stop: () => Promise<void> }>(
  name: string,
  start: (folder: string) => Promise<Started>,
): Promise<Started> {
  const folder = await mkdtemp(join(tmpdir(), `corral-${name}-`));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const started = await start(folder);
    return { ...started, stop: () => started.stop().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** A controller that starts hundreds of sandboxes on two cores answers late. */
const metricsMs = 30_000;

/** The controller's metrics, as text. */
export async function metricsOf(fleet: { readonly controllerUrl: string }): Promise<string> {
  const reply = await request(`${fleet.controllerUrl}/metrics`, { signal: AbortSignal.timeout(metricsMs) });
  return reply.body.text();
}

/** Sandboxes of all templates that wait for a rollout, by those metrics. */
export function readyIn(metrics: string): number {
  const lines = metrics
    .split('\n')
    .filter((line) => line.startsWith('corral_fleet_pool{') && line.includes('state="ready"'));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
