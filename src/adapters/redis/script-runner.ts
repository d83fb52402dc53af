import type { Connection } from './connection.ts';
import { classifyTrouble, isMissingFunction } from './redis-trouble.ts';
import { loadLibrary, type LibraryOptions, type ScriptName } from './script-library.ts';

/** Runs a script of fleet state in one round trip. Throws `Failure` with `state_unavailable` or `recovering`. */
export type RunScript = (name: ScriptName, ...args: readonly (string | number)[]) => Promise<Reply>;

/** Hands the library of scripts to Redis, and again to every later Redis that does not have it. */
export async function prepareScripts(
  connection: Connection,
  options: LibraryOptions,
  onScript: (tookMs: number) => void = () => undefined,
): Promise<RunScript> {
  const library = await loadLibrary(options);
  const guardKey = options.keys('redis');
  const { client } = connection;
  const load = () => client.function('LOAD', 'REPLACE', library.text);
  await load();
  return async (name, ...args) => {
    const beganMs = performance.now();
    const call = () => client.fcall(library.functionOf(name), 1, guardKey, connection.redisRun, ...args);
    try {
      return (await call().catch(async (thrown: unknown) => {
        if (!isMissingFunction(thrown)) throw thrown;
        await load();
        return call();
      })) as Reply;
    } catch (thrown) {
      throw classifyTrouble(thrown);
    } finally {
      onScript(performance.now() - beganMs);
    }
  };
}

/** What a script may answer, as ioredis hands it over. */
export type Reply = string | number | null | readonly Reply[];

/** Scripts and decoders are written together: a shape that does not fit is a defect, and says where. */
function misfit(expected: string, reply: Reply | undefined): TypeError {
  return new TypeError(`a script of fleet state answered ${JSON.stringify(reply)} where ${expected} belongs`);
}

export function listOf(reply: Reply | undefined): readonly Reply[] {
  if (Array.isArray(reply)) return reply as readonly Reply[];
  throw misfit('a list', reply);
}

export function textOf(reply: Reply | undefined): string {
  if (typeof reply === 'string') return reply;
  throw misfit('a text', reply);
}

/** Empty text stands for "none" in hashes, where there is no null. */
export function textOrNull(reply: Reply | undefined): string | null {
  return reply === null || reply === undefined || reply === '' ? null : textOf(reply);
}

export function numberOf(reply: Reply | undefined): number {
  const number = typeof reply === 'string' && reply !== '' ? Number(reply) : reply;
  if (typeof number === 'number' && !Number.isNaN(number)) return number;
  throw misfit('a number', reply);
}

export function numberOrNull(reply: Reply | undefined): number | null {
  return textOrNull(typeof reply === 'number' ? String(reply) : reply) === null ? null : numberOf(reply);
}
