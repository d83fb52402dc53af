import { join } from 'node:path';
import { freePort } from '../../cli/fleet/free-port.ts';
import { openLogFile } from '../../cli/fleet/log-file.ts';
import { createPartRecords } from '../../cli/fleet/part-records.ts';
import { controllerPart } from '../../cli/fleet/parts.ts';
import type { Fleet } from '../../cli/fleet/start-fleet.ts';
import { stateFolderAt } from '../../cli/fleet/state-folder.ts';
import { supervise } from '../../cli/fleet/supervise.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { ExtraController } from './extra-controller.ts';
import { sharedPayload } from './fleet.ts';

/** One more controller of a fleet on this machine, with an environment folder of its own. */
export async function startExtraLocalController(
  { stateDir, apiKey }: Pick<Fleet, 'stateDir' | 'apiKey'>,
  environmentsDir: string,
): Promise<ExtraController> {
  const port = await freePort(0);
  const folder = stateFolderAt(stateDir);
  const spec = controllerPart({
    folder,
    engine: { kind: 'local', payloadDir: sharedPayload },
    environmentsDir,
    policyFile: null,
    gatewayPort: 0,
    controllerPort: port,
    developmentKey: apiKey,
    pool: {},
    keepRecords: false,
  });
  const part = await supervise(spec, {
    clock: systemClock,
    records: createPartRecords(join(stateDir, 'extra-controller')),
    logOf: () => openLogFile(join(folder.logs, 'extra-controller.jsonl'), systemClock),
    onEvent: () => undefined,
    startDeadlineMs: 60_000,
  });
  return { url: `http://127.0.0.1:${port}`, stop: () => part.stop() };
}
