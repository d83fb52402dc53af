import { Compile } from 'typebox/compile';
import { Agent, request } from 'undici';
import type { AskKeeper } from '#src/ports/fleet/watch.ts';
import type { Random } from '#src/ports/random.ts';
import {
  answerAt,
  BeginLine,
  EndLine,
  questionAt,
  targetOf,
  type Told,
  type Wanted,
} from '#src/protocol/fleet/events.ts';
import { isWanted, parseEvent, parseJson, splitLines } from './event-lines.ts';

export type AskKeeperOptions = {
  readonly tokens: {
    readonly peerToken: (statement: string) => string;
    readonly isPeerToken: (statement: string, presented: string) => boolean;
  };
  readonly random: Random;
  /** Until it says that it is there, which it does before it looks; default 2 s: it is in this cluster. */
  readonly beginMs?: number;
  /** As a whole; default 10 s: it looks for five. */
  readonly answerMs?: number;
};

const beginCheck = Compile(BeginLine);
const endCheck = Compile(EndLine);
const nonceLength = 16;

/** Asks other processes of the fleet for their events, as they come; a reader who stops ends the request. */
export function createAskKeeper({ tokens, random, ...given }: AskKeeperOptions): {
  readonly ask: AskKeeper;
  close(): Promise<void>;
} {
  const { beginMs = 2_000, answerMs = 10_000 } = given;
  const dispatcher = new Agent({ connect: { timeout: beginMs }, pipelining: 0 });
  async function* ask(address: string, wanted: Wanted, signal: AbortSignal): AsyncGenerator<string, Told> {
    const target = targetOf(wanted, random.text(nonceLength));
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`nothing came within ${beginMs / 1000} s`)), beginMs);
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal, AbortSignal.timeout(answerMs)]);
    const headers = { authorization: `Bearer ${tokens.peerToken(questionAt(address, target))}` };
    const isProof = (proof: string) => tokens.isPeerToken(answerAt(address, target), proof);
    try {
      const asked = request(`${address}${target}`, { dispatcher, headers, signal: until });
      asked.catch(() => undefined);
      const { statusCode, body } = await Promise.race([asked, late]);
      body.on('error', () => undefined);
      if (statusCode !== 200) throw new Error(`its answer was ${statusCode}`);
      const lines = splitLines(body);
      const first = await Promise.race([lines.next(), late]);
      if (first.done === true || !isBegin(first.value, isProof)) throw new Error('it is none of this fleet');
      clearTimeout(timer);
      return yield* eventsIn(lines, wanted);
    } finally {
      clearTimeout(timer);
      ended.abort();
    }
  }
  return { ask, close: () => dispatcher.destroy() };
}

/** Only what was asked for is passed on, whatever the other says. */
async function* eventsIn(lines: AsyncIterable<string>, wanted: Wanted): AsyncGenerator<string, Told> {
  for await (const line of lines) {
    const end = line.startsWith('{"kind":"end"') ? endOf(line) : null;
    if (end !== null) return end;
    const event = parseEvent(line);
    if (event !== null && isWanted(event, wanted)) yield line;
  }
  throw new Error('its answer broke off');
}

function isBegin(line: string, isProof: (proof: string) => boolean): boolean {
  const value = parseJson(line);
  return beginCheck.Check(value) && isProof(value.proof);
}

function endOf(line: string): Told | null {
  const value = parseJson(line);
  if (!endCheck.Check(value)) return null;
  const { told, why, files, read_to } = value;
  return { told, why, ...(files && { files }), ...(read_to !== undefined && { read_to }) };
}
