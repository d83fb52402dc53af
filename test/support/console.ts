import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { createConsoleServer } from '#services/console/server.ts';
import { readConsoleConfig } from '#services/console/config.ts';
import { bundleServices } from '#infra/services/bundle-services.ts';
import { freePort } from '#cli/fleet/free-port.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { Log } from '#src/ports/log.ts';

/** A console in this process, over a gateway that runs. */
export type ConsoleOfTest = {
  readonly url: string;
  send(
    path: string,
    how?: { readonly method?: string; readonly headers?: Headers; readonly body?: unknown },
  ): Promise<Response>;
  /** As its page does; resolves to the answer and keeps the session. */
  logIn(body: unknown): Promise<Response>;
  /** An answer of the session that logged in last, checked against its schema. */
  read<Schema extends TSchema>(path: string, schema: Schema): Promise<Static<Schema>>;
  stop(): Promise<void>;
};
type Headers = Readonly<Record<string, string>>;

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export async function startConsole(
  gatewayUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ConsoleOfTest> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-console-'));
  const config = readConsoleConfig({
    CORRAL_CONSOLE_LISTEN: `127.0.0.1:${await freePort(0)}`,
    CORRAL_GATEWAY_URL: gatewayUrl,
    CORRAL_CONSOLE_STATE_DIR: folder,
    ...settings,
  });
  const page = join((await bundleServices()).dir, 'page');
  const deps = { clock: systemClock, random: systemRandom, log: silent, page };
  const server = createConsoleServer(config, deps);
  const url = `http://127.0.0.1:${await server.listen()}`;
  let cookie = '';
  const send: ConsoleOfTest['send'] = (path, { method = 'GET', headers = {}, body } = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        'x-corral-console': '1',
        ...(cookie === '' ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    url,
    send,
    logIn: async (body) => {
      const answer = await send('/session', { method: 'POST', body });
      cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      return answer;
    },
    read: async (path, schema) => {
      const answer = await send(path);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return Value.Parse(schema, await answer.json());
    },
    stop: async () => {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
