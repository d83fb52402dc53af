import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, parseIdentity } from '#cli/fleet/process-identity.ts';
import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';
import { type FleetEvent, startFleet } from '#cli/fleet/start-fleet.ts';
import { inOwnFolder } from '#cli/fleet/temporary-fleet.ts';
import type { PartEvent } from '#cli/fleet/supervise.ts';
import { environmentName, soakEnvironment } from './environment.ts';
import { startExtraGateway } from './extra-gateway.ts';

export type SoakFleet = {
  readonly gatewayUrl: string;
  /** A second gateway of the same fleet. */
  readonly otherGatewayUrl: string;
  readonly apiKey: string;
  sandboxes(): Promise<readonly LocalSandbox[]>;
  /** Of a part that runs now; null while it is being started again. */
  pidOf(part: Part): Promise<number | null>;
  /** Ends every part and removes its folder; idempotent. */
  stop(): Promise<void>;
};

export type Part = 'gateway' | 'other gateway' | 'controller' | 'redis' | 'node';

const payloadDir = join(import.meta.dirname, '../../out/payload');

/** A real fleet on this machine, in a folder of its own. Redis writes to disk, as it would in production. */
export async function startSoakFleet(
  speed: number,
  pool: { readonly minReady: number; readonly max: number },
  onReady: (part: Part) => void,
): Promise<SoakFleet> {
  const onEvent = (event: FleetEvent) => {
    if (event.kind === 'ready') onReady(event.part);
  };
  const onOtherEvent = (event: PartEvent) => {
    if (event.kind === 'ready') onReady('other gateway');
  };
  return inOwnFolder('soak', async (root) => {
    const environmentsDir = join(root, 'environments');
    await mkdir(environmentsDir);
    await writeFile(join(environmentsDir, `${environmentName}.yaml`), soakEnvironment(speed, pool));
    const stateDir = join(root, 'state');
    const fleet = await startFleet({ environmentsDir, stateDir, payloadDir, keepRecords: true, onEvent });
    const other = await startExtraGateway(fleet, environmentsDir, onOtherEvent).catch(
      async (error: unknown) => {
        await fleet.stop();
        throw error;
      },
    );
    return {
      gatewayUrl: fleet.gatewayUrl,
      otherGatewayUrl: other.url,
      apiKey: fleet.apiKey,
      sandboxes: () => fleet.sandboxes(),
      pidOf: async (part) =>
        part === 'other gateway' ? other.pid() : pidIn(join(fleet.stateDir, 'parts', `${part}.json`)),
      stop: async () => {
        await other.stop();
        await fleet.stop();
      },
    };
  });
}

async function pidIn(recordFile: string): Promise<number | null> {
  const identity = parseIdentity(await readFile(recordFile, 'utf8').catch(() => ''));
  return identity !== null && isAlive(identity) ? identity.pid : null;
}
