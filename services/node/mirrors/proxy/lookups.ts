import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { closedError, type Reachable } from '../addresses.ts';

type LookUpAll = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

type Answer = { readonly error: NodeJS.ErrnoException | null; readonly found: readonly LookupAddress[] };

/** Null: it is being looked up, and `waiting` wants to know. */
type Entry = { answer: Answer | null; untilMs: number; readonly waiting: ((answer: Answer) => void)[] };

/** A name that was found, or was not found, is not looked up again for so long. */
const keptMs = { good: 30_000, bad: 1_000 } as const;

/**
 * Looks names up, and leaves out the addresses that are closed: what is looked at is what is used, so a name that leads elsewhere a moment
 * later leads nowhere. Requests share a look-up, so that many of them do not queue in front of a probe's.
 */
export function createLookups(
  isOpen: Reachable,
  lookUp: LookUpAll = lookup,
  nowMs = () => performance.now(),
): LookupFunction {
  const kept = new Map<string, Entry>();
  const ask = (host: string, hear: (answer: Answer) => void): void => {
    const known = kept.get(host);
    const answer = known?.answer ?? null;
    if (known !== undefined && answer === null) return void known.waiting.push(hear);
    if (known !== undefined && answer !== null && nowMs() < known.untilMs)
      return process.nextTick(hear, answer);
    const entry: Entry = { answer: null, untilMs: 0, waiting: [hear] };
    kept.set(host, entry);
    lookUp(host, { all: true }, (error, found) => {
      const came = { error, found };
      entry.answer = came;
      entry.untilMs = nowMs() + (error === null ? keptMs.good : keptMs.bad);
      for (const each of entry.waiting.splice(0)) each(came);
    });
  };
  return (host, options, callback) =>
    ask(host, ({ error, found }) => {
      if (error !== null) return callback(error, []);
      const open = found.filter(({ address }) => isOpen(address));
      const [first] = open;
      if (first === undefined) return callback(closedError(host), []);
      if (options.all === true) return callback(null, open);
      callback(null, first.address, first.family);
    });
}
