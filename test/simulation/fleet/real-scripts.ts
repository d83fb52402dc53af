import { Redis } from 'ioredis';
import { keysOf } from '../../../src/adapters/redis/keys.ts';
import { classifyTrouble } from '../../../src/adapters/redis/redis-trouble.ts';
import type { Reply } from '../../../src/adapters/redis/reply.ts';
import { loadLibrary } from '../../../src/adapters/redis/script-library.ts';
import type { ScriptLibrary } from '../../../src/adapters/redis/script-library.ts';
import type { ScriptName } from '../../../src/adapters/redis/script-names.ts';
import { startRedis } from '../../support/redis.ts';
import type { PrivateRedis } from '../../support/redis.ts';
import { inspectLua, readState } from './fleet-snapshot.ts';
import type { FleetSnapshot } from './fleet-snapshot.ts';

export const fleetKeys = keysOf('simulated');

const clockKey = 'simulated:clock';
const publishedKey = 'simulated:published';

/**
 * Stands for `lib/time.lua`: time is what the world says. Messages go to a list instead of to subscribers, because a
 * second connection would hear them at a moment that nobody controls; the world hands them out.
 */
const timeLua = `
local function callEngine(...) return redis.call(...) end
local function errorReply(text) return redis.error_reply(text) end
local redis = { register_function = redis.register_function, error_reply = errorReply }
function redis.call(command, ...)
  if command == 'PUBLISH' then return callEngine('RPUSH', '${publishedKey}', ...) end
  return callEngine(command, ...)
end
local function clock() return tonumber(callEngine('GET', '${clockKey}')) end
`;

/** Scripts that change nothing; controllers look so often that looking after them, too, would take half of a run's time. */
const readers: ReadonlySet<ScriptName> = new Set([
  'adopted-at',
  'counts',
  'draining',
  'find',
  'known-sandboxes',
  'lapsed-runs',
  'list-calls',
  'load-environment',
  'lookup-call',
  'read-kept',
]);

export type PatchScripts = (library: string) => string;

export type Ran = {
  readonly reply: Reply;
  /** Channels and messages, alternating. */
  readonly published: readonly string[];
};

/** The product's own scripts on a Redis of our own, one at a time, with the state that each leaves behind. */
export class RealScripts {
  readonly #server: PrivateRedis;
  readonly #client: Redis;
  readonly #library: ScriptLibrary;
  #loaded: string | null = null;
  #inspect = '';
  #state: FleetSnapshot | null = null;

  private constructor(server: PrivateRedis, client: Redis, library: ScriptLibrary) {
    this.#server = server;
    this.#client = client;
    this.#library = library;
  }

  static async start(): Promise<RealScripts> {
    const server = await startRedis();
    const library = await loadLibrary({ keys: fleetKeys, timeLua });
    return new RealScripts(server, new Redis(server.socket), library);
  }

  /** An empty Redis; `patch` changes the scripts of one world only. */
  async begin(patch: PatchScripts = (text) => text): Promise<void> {
    const text = patch(this.#library.text);
    if (text !== this.#loaded) await this.#client.function('LOAD', 'REPLACE', text);
    if (this.#loaded === null)
      this.#inspect = String(await this.#client.script('LOAD', inspectLua(fleetKeys)));
    this.#loaded = text;
    await this.empty();
  }

  async empty(): Promise<void> {
    await this.#client.flushdb();
    this.#state = null;
  }

  /** Runs one script at `nowMs`, for a process that believes to speak to `redisRun`. Throws what the adapter throws. */
  async run(
    redisRun: string,
    name: ScriptName,
    args: readonly (string | number)[],
    nowMs: number,
  ): Promise<Ran> {
    const script = ['fcall', this.#library.functionOf(name), 1, fleetKeys('redis'), redisRun, ...args];
    const look = [
      ['lpop', publishedKey, 1_000],
      ['evalsha', this.#inspect, 0],
    ];
    const [, called, published, state] = await this.#together([
      ['set', clockKey, nowMs],
      script,
      ...(readers.has(name) ? [] : look),
    ]);
    const [error, reply] = called ?? [new Error('Redis answered nothing')];
    if (state !== undefined) this.#state = readState(String(state[1]), this.#state);
    if (error) throw classifyTrouble(error);
    return { reply: reply as Reply, published: (published?.[1] ?? []) as readonly string[] };
  }

  /** What the last script left behind. */
  get state(): FleetSnapshot {
    return this.#state ?? readState('', null);
  }

  async stop(): Promise<void> {
    this.#client.disconnect();
    await this.#server.stop();
  }

  async #together(commands: (string | number)[][]): Promise<[Error | null, unknown][]> {
    return (await this.#client.pipeline(commands).exec()) ?? [];
  }
}
