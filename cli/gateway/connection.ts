import { existsSync, readFileSync } from 'node:fs';
import { CommandError } from '../command-error.ts';
import { readDevelopmentKey } from '../fleet/keys.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';

/** How to speak to a gateway, and as whom. */
export type Connection = { readonly url: string; readonly key: string; readonly run: string | null };

export type ConnectionOptions = {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly run?: string | undefined;
  readonly state?: string | undefined;
};

/**
 * From the options, else from CORRAL_URL and CORRAL_KEY, else from the state folder of a fleet on this machine. Null
 * when nothing names a gateway.
 */
export function findConnection(
  options: ConnectionOptions,
  variables: Readonly<Record<string, string | undefined>>,
): Connection | null {
  const folder = stateFolderAt(options.state ?? defaultStateFolder);
  const url = options.url ?? variables['CORRAL_URL'] ?? gatewayOf(folder.fleetFile);
  if (url === null) return null;
  const key = options.key ?? variables['CORRAL_KEY'] ?? readDevelopmentKey(folder.developmentKeyFile);
  if (key === null) {
    throw new CommandError('no API key was given', 'yours', 'give --key, or set CORRAL_KEY');
  }
  return { url: checkedUrl(url), key, run: options.run ?? null };
}

/** For commands that do nothing without a fleet. Throws where `findConnection` returns null, and says what to do. */
export function connectionToFleet(
  options: ConnectionOptions,
  variables: Readonly<Record<string, string | undefined>>,
): Connection {
  const connection = findConnection(options, variables);
  if (connection !== null) return connection;
  throw new CommandError(
    'no fleet runs on this state folder',
    'yours',
    'start one with "corral up", or name one with --url and --key',
  );
}

/** Written when the fleet is ready, removed when it stops; a crash leaves it, and then nothing answers there. */
function gatewayOf(fleetFile: string): string | null {
  if (!existsSync(fleetFile)) return null;
  const { gatewayUrl } = JSON.parse(readFileSync(fleetFile, 'utf8')) as { gatewayUrl?: string };
  return gatewayUrl ?? null;
}

function checkedUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text)) {
    throw new CommandError(`not a gateway's address: ${text}`, 'yours', 'give it like http://127.0.0.1:8700');
  }
  return text.replace(/\/+$/, '');
}
