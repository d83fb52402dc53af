import { fileURLToPath } from 'node:url';
import { type Fleet, type FleetEvent, type RunningFleet, startFleet } from '#cli/fleet/start-fleet.ts';
import { inOwnFolder, metricsOf, readyIn } from '#cli/fleet/temporary-fleet.ts';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import type { Clock } from '#src/ports/clock.ts';

export const environment = 'code-edit-planning';
export const environmentTools = ['shell', 'read_file'];

export const environmentsDir = fileURLToPath(new URL('../../environments/', import.meta.url));

const usualConsolePort = 8701;

/** A warm pool of the default size takes seconds; after this the burst begins with what is there. */
const warmDeadlineMs = 60_000;

export type DemoFleet = Pick<RunningFleet, 'gatewayUrl' | 'controllerUrl' | 'apiKey'> & {
  /** As `RunningFleet` has it; pods of a cluster have no console here. */
  readonly consoleUrl: string | null;
  /** SIGKILL to the sandbox's daemon; false when the sandbox is not there. */
  readonly kill: (sandbox: string) => Promise<boolean>;
  /** Ends every part and removes its folder; idempotent. */
  readonly stop: () => Promise<void>;
};

/** A fleet in a folder of its own, with a pool for the one environment of the demo. */
export async function startDemoFleet(
  minReady: number,
  onEvent: (event: FleetEvent) => void,
  withConsole: boolean,
): Promise<DemoFleet> {
  return inOwnFolder('demo', async (stateDir) => {
    const pool = await poolsFor(minReady);
    const page = withConsole ? { consolePort: usualConsolePort } : {};
    const fleet = await startFleet({ environmentsDir, stateDir, pool, onEvent, ...page });
    const { gatewayUrl, controllerUrl, apiKey, consoleUrl } = fleet;
    return { gatewayUrl, controllerUrl, apiKey, consoleUrl, kill: killIn(fleet), stop: () => fleet.stop() };
  });
}

const killIn = (fleet: Fleet) => async (sandbox: string) => {
  const found = (await fleet.sandboxes()).find((one) => one.sandbox === sandbox);
  return found !== undefined && process.kill(found.pid, 'SIGKILL');
};

/** The rest of the gallery keeps nothing warm: this machine is for the burst. */
async function poolsFor(minReady: number): Promise<Record<string, { readonly minReady: number }>> {
  const catalog = await loadEnvironments(environmentsDir);
  const idle = catalog.all().map(({ name }) => [name, { minReady: 0 }] as const);
  return { ...Object.fromEntries(idle), [environment]: { minReady } };
}

/** Waits until `minReady` sandboxes are ready; answers how many are when it stops waiting. */
export async function warmPool(fleet: DemoFleet, minReady: number, clock: Clock): Promise<number> {
  const giveUpMs = clock.monotonicMs() + warmDeadlineMs;
  for (;;) {
    const ready = readyIn(await metricsOf(fleet));
    if (ready >= minReady || clock.monotonicMs() > giveUpMs) return ready;
    await clock.sleep(250);
  }
}
