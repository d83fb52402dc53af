import type { Connection } from './connection.ts';
import { classifyTrouble, isMissingFunction } from './redis-trouble.ts';
import type { Replicas } from './replicas.ts';
import { contracts, loadLibrary, type LibraryOptions, type ScriptName } from './script-library.ts';
import { checkedReply } from './scripts/contract.ts';
import type { Static } from 'typebox';

/** Runs a script of fleet state in one round trip. Throws `Failure` with `state_unavailable` or `recovering`. */
export type RunScript = (name: ScriptName, ...args: readonly string[]) => Promise<Reply>;

/**
 * Hands the library of scripts to Redis, and again to every later Redis that does not have it. A reply with a fresh
 * verdict is returned when a replica has confirmed it.
 */
export async function prepareScripts(
  connection: Connection,
  replicas: Replicas,
  options: LibraryOptions,
  onScript: (tookMs: number) => void = () => undefined,
): Promise<RunScript> {
  const library = await loadLibrary(options);
  const guardKey = options.keys('redis');
  const { client } = connection;
  const load = () => client.function('LOAD', 'REPLACE', library.text);
  await load();
  const timed = async (redisRun: string, name: ScriptName, args: readonly string[]) => {
    const beganMs = performance.now();
    const call = () => client.fcall(library.functionOf(name), 1, guardKey, redisRun, ...args);
    try {
      return (await call().catch(async (thrown: unknown) => {
        if (!isMissingFunction(thrown)) throw thrown;
        await load();
        return call();
      })) as Reply;
    } finally {
      onScript(performance.now() - beganMs);
    }
  };
  return async (name, ...args) => {
    try {
      const { redisRun } = connection;
      const reply = await timed(redisRun, name, args);
      if (hasFreshVerdict(reply)) await replicas.waitForReplica(redisRun);
      return reply;
    } catch (thrown) {
      throw classifyTrouble(thrown);
    }
  };
}

/** What a script answers, as ioredis hands it over: its reply as JSON, alone or with raw texts. */
export type Reply = string | readonly [json: string, texts: readonly string[], isFresh?: 'fresh'];

/** Whether it has a verdict that may be on no replica yet. */
export const hasFreshVerdict = (reply: Reply) => typeof reply !== 'string' && reply[2] === 'fresh';

/** An optional field may be given as undefined, which JSON leaves out. */
type Given<Ask> = {
  readonly [Field in keyof Ask]: Pick<Ask, Field> extends Required<Pick<Ask, Field>>
    ? Ask[Field]
    : Ask[Field] | undefined;
};
type AskOf<Name extends ScriptName> = Given<Static<(typeof contracts)[Name]['ask']>>;
export type ReplyOf<Name extends ScriptName> = Static<(typeof contracts)[Name]['reply']>;

/** An item of a script whose reply is a list. */
export type Listed<Name extends ScriptName> = Extract<ReplyOf<Name>, readonly unknown[]>[number];

/** Scripts by their contracts. */
export type Scripts = {
  readonly ask: <Name extends ScriptName>(name: Name, ask: AskOf<Name>) => Promise<ReplyOf<Name>>;
  /** With texts that go beside what is asked and replied, raw. */
  readonly exchange: <Name extends ScriptName>(
    name: Name,
    ask: AskOf<Name>,
    ...texts: readonly string[]
  ) => Promise<{ readonly reply: ReplyOf<Name>; readonly texts: readonly string[] }>;
};

export function scriptsOver(run: RunScript): Scripts {
  const exchange: Scripts['exchange'] = async (name, ask, ...texts) => {
    const answered = await run(name, jsonOf(ask), ...texts);
    const [json, given] = typeof answered === 'string' ? [answered, []] : answered;
    return { reply: checkedReply(name, contracts[name].reply, json) as ReplyOf<typeof name>, texts: given };
  };
  return { exchange, ask: async (name, ask) => (await exchange(name, ask)).reply };
}

/** Half of a character, which a text that was cut may end in, leaves JavaScript as an escape that Lua's JSON refuses. */
export function jsonOf(ask: unknown): string {
  const json = JSON.stringify(ask);
  if (!json.includes('\\ud')) return json;
  return JSON.stringify(ask, (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
}

/** An empty text stands for none where there is no null: in hashes, and among raw texts. */
export function textOrNull(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
