import { Redis, ReplyError } from 'ioredis';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { classifyTrouble } from '#src/adapters/redis/redis-trouble.ts';
import type { Reply } from '#src/adapters/redis/script-runner.ts';
import { loadLibrary, type ScriptLibrary, type ScriptName } from '#src/adapters/redis/script-library.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';
import { type FleetSnapshot, readState, snapshotLua } from './fleet-snapshot.ts';
import { worldLua } from './world-lua.ts';

export const fleetKeys = keysOf('simulated');

/** What a replica holds when the fleet's Redis dies: a copy beside it, some writes old. Its keys keep their ends. */
const copyLua = `
redis.call('SELECT', 1)
redis.call('FLUSHDB')
redis.call('SELECT', 0)
for _, name in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', name, name, 'DB', 1) end`;

/** What rollouts that are over lose within 40 minutes: by then no request is repeated, or their memory was needed before. */
const forgetLua = `
local gone = 0
for _, name in ipairs({ ${(['rollout', 'newest', 'details', 'calls'] as const)
  .map((name) => `'${fleetKeys(name)}'`)
  .join(', ')} }) do
  for _, one in ipairs(redis.call('KEYS', name .. '*')) do
    local lifeMs = redis.call('PTTL', one)
    if lifeMs >= 0 and lifeMs <= 40 * 60 * 1000 then gone = gone + redis.call('DEL', one) end
  end
end
return gone`;

const nothing = readState('', null);

export type PatchScripts = (library: string) => string;

/** What went wrong, the script's own reply, its messages, and fleet state if the script has written: see world-lua.ts. */
type Told = readonly [string | null, Reply, readonly string[], string | null];

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
  #state: FleetSnapshot = nothing;
  #copied: FleetSnapshot = nothing;

  private constructor(server: PrivateRedis, client: Redis, library: ScriptLibrary) {
    this.#server = server;
    this.#client = client;
    this.#library = library;
  }

  static async start(): Promise<RealScripts> {
    const server = await startRedis();
    const library = await loadLibrary({ keys: fleetKeys, timeLua: worldLua(fleetKeys) });
    return new RealScripts(server, new Redis(server.socket), library);
  }

  /** An empty Redis; `patch` changes the scripts of one world only. */
  async begin(patch: PatchScripts = (text) => text): Promise<void> {
    const text = patch(this.#library.text);
    if (text !== this.#loaded) await this.#client.function('LOAD', 'REPLACE', text);
    this.#loaded = text;
    await this.empty();
  }

  async empty(): Promise<void> {
    await this.#client.flushdb();
    this.#state = nothing;
  }

  /** Forgets what rollouts that are over have left, but for what outlives every retry. Returns how many keys that were. */
  async forgetLeftovers(): Promise<number> {
    const gone = Number(await this.#client.eval(forgetLua, 0));
    this.#state = readState(String(await this.#client.eval(snapshotLua(fleetKeys), 0)), this.#state);
    return gone;
  }

  /** A replica has everything until now, and will hear of nothing more. */
  async copy(): Promise<void> {
    await this.#client.eval(copyLua, 0);
    this.#copied = this.#state;
  }

  /** The replica takes the place of the Redis that it copied. */
  async promoteCopy(): Promise<void> {
    await this.#client.swapdb(0, 1);
    this.#state = this.#copied;
  }

  /** Runs one script at `nowMs`, for a process that believes to speak to `redisRun`. Throws what the adapter throws. */
  async run(redisRun: string, name: ScriptName, args: readonly string[], nowMs: number): Promise<Ran> {
    const call = [this.#library.functionOf(name), 2, fleetKeys('redis'), nowMs, redisRun, ...args] as const;
    const [error, reply, published, text] = (await this.#client.fcall(...call)) as Told;
    if (text !== null) this.#state = readState(text, this.#state);
    if (error !== null) throw classifyTrouble(new ReplyError(error));
    return { reply, published };
  }

  /** What the last script left behind. */
  get state(): FleetSnapshot {
    return this.#state;
  }

  /** Processor time that this Redis has used. */
  async cpuMs(): Promise<number> {
    const info = await this.#client.info('cpu');
    const seconds = [...info.matchAll(/used_cpu_(?:user|sys):([\d.]+)/g)].map(([, text]) => Number(text));
    return 1000 * seconds.reduce((sum, one) => sum + one, 0);
  }

  async stop(): Promise<void> {
    this.#client.disconnect();
    await this.#server.stop();
  }
}
