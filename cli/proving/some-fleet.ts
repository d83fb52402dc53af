import { type Fleet, type FleetOptions, startFleet } from '../fleet/start-fleet.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';
import { inOwnFolder } from '../fleet/temporary-fleet.ts';
import { type Connection, type ConnectionOptions, findConnection } from '../gateway/connection.ts';
import { createHttpClient, isUnreachable } from '../gateway/http-client.ts';
import type { Terminal } from '../print/terminal.ts';
import { mustBeIn } from './rows.ts';

export type SomeFleetOptions = ConnectionOptions & { readonly environments: string };

/**
 * The fleet that is named or runs here; if none does, one of our own that ends with us. `environment`, if there is one, is looked for
 * before that is started.
 */
export async function onSomeFleet<Result>(
  options: SomeFleetOptions,
  environment: string | undefined,
  terminal: Terminal,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = findConnection(options, process.env);
  if (connection !== null && (await answers(connection, options))) return work(connection);
  if (environment !== undefined) await mustBeIn(options.environments, environment);
  terminal.remark('no fleet runs here: starting one that ends with this command');
  const places = placesIn(options.state ?? defaultStateFolder);
  const dataDir = process.env['CORRAL_DATA_DIR'] ?? places.dataDir;
  return onOwnFleet('own', { ...places, dataDir, environmentsDir: options.environments }, (fleet) =>
    work({ url: fleet.gatewayUrl, key: fleet.apiKey, run: options.run ?? null }),
  );
}

/** Where the next fleet finds what was made for the last one: neither is made twice. */
export function placesIn(state: string) {
  const { payload: payloadDir, data: dataDir } = stateFolderAt(state);
  return { payloadDir, dataDir };
}

/** A fleet in a folder of its own, which ends with `work`. */
export async function onOwnFleet<Result>(
  name: string,
  options: Omit<FleetOptions, 'stateDir'>,
  work: (fleet: Fleet) => Promise<Result>,
): Promise<Result> {
  const fleet = await inOwnFolder(name, (stateDir) => startFleet({ ...options, stateDir }));
  try {
    return await work(fleet);
  } finally {
    await fleet.stop();
  }
}

/** A gateway that was named must answer; one that only a state folder tells of may be gone. */
async function answers(connection: Connection, options: SomeFleetOptions): Promise<boolean> {
  const client = createHttpClient(connection);
  try {
    await client.send({ method: 'GET', path: '/healthz' });
    return true;
  } catch (error) {
    if (options.url === undefined && isUnreachable(error)) return false;
    throw error;
  } finally {
    await client.close();
  }
}
