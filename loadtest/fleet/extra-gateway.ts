import { join } from 'node:path';
import { freePort } from '#cli/fleet/free-port.ts';
import { openLogFile } from '#cli/fleet/log-file.ts';
import { createPartRecords } from '#cli/fleet/part-records.ts';
import { gatewayPart } from '#cli/fleet/parts.ts';
import type { Fleet } from '#cli/fleet/start-fleet.ts';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { type PartEvent, supervise } from '#cli/fleet/supervise.ts';
import { systemClock } from '#src/platform/clock.ts';

/** One more gateway of a fleet that is up, as every fleet but that of one machine has. */
export type ExtraGateway = {
  readonly url: string;
  pid(): number | null;
  /** To be called before the fleet is stopped. */
  stop(): Promise<void>;
};

const startDeadlineMs = 60_000;

/** Starts it beside the fleet's own, on a port of its own, with the same key and these settings, and keeps it running. */
export async function startExtraGateway(
  fleet: Pick<Fleet, 'stateDir' | 'servicesDir' | 'apiKey'>,
  environmentsDir: string,
  onEvent: (event: PartEvent) => void = () => undefined,
  settings: Readonly<Record<string, string>> = {},
): Promise<ExtraGateway> {
  const gatewayPort = await freePort(0);
  const folder = stateFolderAt(fleet.stateDir);
  const spec = gatewayPart({
    folder,
    engine: { kind: 'local', payloadDir: folder.payload },
    servicesDir: fleet.servicesDir,
    environmentsDir,
    policyFile: null,
    gatewayPort,
    controllerPort: 0,
    developmentKey: fleet.apiKey,
    pool: {},
    keepRecords: false,
  });
  const part = await supervise(
    { ...spec, env: { ...spec.env, ...settings } },
    {
      clock: systemClock,
      // The fleet's own records have one gateway in them.
      records: createPartRecords(join(fleet.stateDir, 'extra-gateway')),
      logOf: () => openLogFile(join(folder.logs, 'extra-gateway.jsonl'), systemClock),
      onEvent,
      startDeadlineMs,
    },
  );
  return { url: `http://127.0.0.1:${gatewayPort}`, pid: () => part.pid(), stop: () => part.stop() };
}
