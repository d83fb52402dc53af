import { join } from 'node:path';
import { freePort } from '../../cli/fleet/free-port.ts';
import { openLogFile } from '../../cli/fleet/log-file.ts';
import { createPartRecords } from '../../cli/fleet/part-records.ts';
import { controllerPart } from '../../cli/fleet/parts.ts';
import { stateFolderAt } from '../../cli/fleet/state-folder.ts';
import { supervise } from '../../cli/fleet/supervise.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { ClusterFleetOfTest } from './cluster-fleet.ts';

/** One more controller of a fleet on a cluster, as every fleet but that of one machine has. */
export type ExtraController = {
  readonly url: string;
  /** To be called before the fleet is stopped. */
  stop(): Promise<void>;
};

export async function startExtraController(corral: ClusterFleetOfTest): Promise<ExtraController> {
  const { fleet, environmentsDir, clusterFile, cluster } = corral;
  const controllerPort = await freePort(0);
  const folder = stateFolderAt(fleet.stateDir);
  const spec = controllerPart({
    folder,
    engine: { kind: 'kubernetes', clusterFile, kubeconfig: cluster.kubeconfig },
    environmentsDir,
    policyFile: null,
    gatewayPort: 0,
    controllerPort,
    developmentKey: fleet.apiKey,
    pool: {},
    keepRecords: false,
  });
  const part = await supervise(spec, {
    clock: systemClock,
    // The fleet's own records have one controller in them.
    records: createPartRecords(join(fleet.stateDir, 'extra-controller')),
    logOf: () => openLogFile(join(folder.logs, 'extra-controller.jsonl'), systemClock),
    onEvent: () => undefined,
    startDeadlineMs: 60_000,
  });
  return { url: `http://127.0.0.1:${controllerPort}`, stop: () => part.stop() };
}
