import type { Connection } from './connection.ts';
import { classifyTrouble, isMissingFunction } from './redis-trouble.ts';
import type { Reply } from './reply.ts';
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
