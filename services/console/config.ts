import { type ConfigReader, readConfig, type Variables } from '#src/platform/config.ts';
import { logLevels } from '#src/platform/logging.ts';
import { readTrajectorySettings } from '#src/platform/trajectory-settings.ts';
import type { LogLevel } from '#src/ports/log.ts';

export type ConsoleConfig = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly gatewayUrl: string;
  /** Where browsers find it, if that is not this machine: `https://console.example.org`. */
  readonly origins: readonly URL[];
  /** Where indexes of runs are kept. */
  readonly stateFolder: string;
  /** Where kept rollouts and texts of calls are; null: nowhere. */
  readonly kept:
    | { readonly store: string; readonly variables: Readonly<Record<string, string | undefined>> }
    | { readonly folder: string }
    | null;
  /** What `corral up` printed in place of the development key; null: nothing. */
  readonly firstLogin: FirstLogin | null;
  readonly exitWithParent: boolean;
  readonly logLevel: LogLevel;
};

/** A code that stands for a key, once and until then. */
export type FirstLogin = { readonly code: string; readonly untilMs: number; readonly key: string };

/** Reads the console's settings; throws `ConfigMistakes` naming all that is wrong. */
export function readConsoleConfig(variables: Variables): ConsoleConfig {
  return readConfig(variables, (read) => {
    const listen = listenAddress(read);
    const origins = readOrigins(read);
    if (!isLoopbackName(listen.host) && origins.length === 0)
      read.mistake('CORRAL_CONSOLE_ORIGINS is not set: which addresses browsers use beyond this machine');
    return {
      listen,
      origins,
      gatewayUrl: readGatewayUrl(read),
      stateFolder: read.text('CORRAL_CONSOLE_STATE_DIR', { purpose: 'the folder for indexes of runs' }),
      kept: readKept(read),
      firstLogin: readFirstLogin(read),
      exitWithParent: read.flag('CORRAL_EXIT_WITH_PARENT'),
      logLevel: read.choice('CORRAL_LOG_LEVEL', logLevels, { fallback: 'info' }),
    };
  });
}

const loopbackNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]', '::1']);

/** Names by which only this machine is reached. */
export const isLoopbackName = (name: string): boolean => loopbackNames.has(name);

function listenAddress(read: ConfigReader): ConsoleConfig['listen'] {
  const text = read.text('CORRAL_CONSOLE_LISTEN', {
    purpose: 'where it listens, host:port',
    fallback: '127.0.0.1:8701',
    pattern: /^.{1,255}:\d{1,5}$/,
  });
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replaceAll(/[[\]]/g, ''), port: Number(text.slice(colon + 1)) };
}

function readGatewayUrl(read: ConfigReader): string {
  const text = read.text('CORRAL_GATEWAY_URL', {
    purpose: 'the address of a gateway, such as http://corral-gateway',
    pattern: /^https?:\/\/[^\s/]{1,255}\/?$/,
  });
  return text.replace(/\/$/, '');
}

function readOrigins(read: ConfigReader): readonly URL[] {
  const texts = (read.optional('CORRAL_CONSOLE_ORIGINS') ?? '').split(',').map((text) => text.trim());
  return texts.flatMap((text) => {
    if (text === '') return [];
    const url = URL.parse(text);
    if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/') return [url];
    read.mistake(`CORRAL_CONSOLE_ORIGINS has ${JSON.stringify(text)}, not like https://console.example.org`);
    return [];
  });
}

function readKept(read: ConfigReader): ConsoleConfig['kept'] {
  const store = readTrajectorySettings(read);
  if (store !== null) return { store: store.place, variables: store.variables };
  const folder = read.optional('CORRAL_CONSOLE_KEPT_DIR');
  return folder === null ? null : { folder };
}

function readFirstLogin(read: ConfigReader): FirstLogin | null {
  const [code, key] = [read.optional('CORRAL_CONSOLE_CODE'), read.optional('CORRAL_DEVELOPMENT_KEY')];
  if (code === null || key === null) return null;
  const untilMs = read.whole('CORRAL_CONSOLE_CODE_UNTIL_MS', {
    purpose: 'when the code ends',
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  });
  return { code, untilMs, key };
}
