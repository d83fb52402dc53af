import type { Connection } from './connection.ts';
import { classifyTrouble, isNoScript } from './redis-trouble.ts';
import type { Reply } from './reply.ts';
import { scriptNames, type ScriptName } from './script-names.ts';
import { loadScript, type Script, type SourceOptions } from './script-source.ts';

/** Runs a script of fleet state in one round trip. Throws `Failure` with `state_unavailable` or `recovering`. */
export type RunScript = (name: ScriptName, ...args: readonly (string | number)[]) => Promise<Reply>;

/** Reads all scripts and hands them to Redis, so that the first call of each is as cheap as the others. */
export async function prepareScripts(connection: Connection, source: SourceOptions): Promise<RunScript> {
  const scripts = new Map<ScriptName, Script>();
  for (const name of scriptNames) scripts.set(name, await loadScript(name, source));
  await Promise.all([...scripts.values()].map(({ text }) => connection.client.script('LOAD', text)));
  const guardKey = source.keys('redis');
  return async (name, ...args) => {
    const script = scripts.get(name);
    if (script === undefined) throw new RangeError(`no such script: ${name}`);
    return runOn(connection, script, guardKey, args);
  };
}

async function runOn(
  connection: Connection,
  { text, sha }: Script,
  guardKey: string,
  args: readonly (string | number)[],
): Promise<Reply> {
  const { client, redisRun } = connection;
  try {
    return (await client.evalsha(sha, 1, guardKey, redisRun, ...args)) as Reply;
  } catch (thrown) {
    if (!isNoScript(thrown)) throw classifyTrouble(thrown);
  }
  // A restarted Redis has forgotten the script: it is sent whole, once.
  try {
    return (await client.eval(text, 1, guardKey, redisRun, ...args)) as Reply;
  } catch (thrown) {
    throw classifyTrouble(thrown);
  }
}
