import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleet } from '../fleet/start-fleet.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';
import { type Connection, type ConnectionOptions, findConnection } from '../gateway/connection.ts';
import { createHttpClient, isUnreachable } from '../gateway/http-client.ts';
import type { Terminal } from '../print/terminal.ts';

export type SomeFleetOptions = ConnectionOptions & { readonly environments: string };

/** The fleet that is named or runs here; where none does, one of our own that ends with us. */
export async function onSomeFleet<Result>(
  options: SomeFleetOptions,
  terminal: Terminal,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = findConnection(options, process.env);
  if (connection !== null && (await answers(connection, options))) return work(connection);
  terminal.remark('no fleet runs here: starting one that ends with this command');
  const stateDir = mkdtempSync(join(tmpdir(), 'corral-'));
  try {
    // Kept where the next fleet finds them: neither is made twice.
    const { payload: payloadDir, data: dataDir } = stateFolderAt(options.state ?? defaultStateFolder);
    const environmentsDir = options.environments;
    const fleet = await startFleet({
      environmentsDir,
      stateDir,
      payloadDir,
      dataDir: process.env['CORRAL_DATA_DIR'] ?? dataDir,
    });
    try {
      return await work({ url: fleet.gatewayUrl, key: fleet.apiKey, run: options.run ?? null });
    } finally {
      await fleet.stop();
    }
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
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
