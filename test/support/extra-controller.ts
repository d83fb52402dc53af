import { join } from 'node:path';
import { freePort } from '#cli/fleet/free-port.ts';
import { openLogFile } from '#cli/fleet/log-file.ts';
import { createPartRecords } from '#cli/fleet/part-records.ts';
import { controllerPart, type Engine } from '#cli/fleet/parts.ts';
import type { RunningFleet } from '#cli/fleet/start-fleet.ts';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { supervise } from '#cli/fleet/supervise.ts';
import { systemClock } from '#src/platform/clock.ts';

/** One more controller of a fleet, as every fleet but that of one machine has. */
export type ExtraController = {
  readonly url: string;
  /** To be called before the fleet is stopped. */
  stop(): Promise<void>;
};

/** Starts it beside the fleet's own, over the same engine, with an environment folder that may be another one. */
export async function startExtraController(
  { stateDir, servicesDir, apiKey }: Pick<RunningFleet, 'stateDir' | 'servicesDir' | 'apiKey'>,
  environmentsDir: string,
  engine: Engine,
): Promise<ExtraController> {
  const controllerPort = await freePort(0);
  const folder = stateFolderAt(stateDir);
  const spec = controllerPart({
    folder,
    engine,
    servicesDir,
    environmentsDir,
    policyFile: null,
    gatewayPort: 0,
    controllerPort,
    developmentKey: apiKey,
    pool: {},
    keepRecords: false,
  });
  const part = await supervise(spec, {
    clock: systemClock,
    // The fleet's own records have one controller in them.
    records: createPartRecords(join(stateDir, 'extra-controller')),
    logOf: () => openLogFile(join(folder.logs, 'extra-controller.jsonl'), systemClock),
    onEvent: () => undefined,
    startDeadlineMs: 60_000,
  });
  return { url: `http://127.0.0.1:${controllerPort}`, stop: () => part.stop() };
}
