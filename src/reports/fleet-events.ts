import type { Clock } from '../ports/clock.ts';
import type { AskKeeper, EventKeepers, HeardKeeper } from '../ports/fleet/watch.ts';
import type { KeepersLine, Told, Wanted } from '../protocol/fleet/events.ts';
import type { OwnEvents } from './own-events.ts';

/*
 * A rollout's calls may have passed through any gateway, and controllers settle what gateways left behind: each writes a log
 * of its own. So whoever is asked tells its own part and asks the others for theirs. What is missing is named.
 */

export type FleetEventsDeps = {
  /** This process, and the log that it writes to itself. */
  readonly self: { readonly name: string; readonly log: string };
  readonly own: OwnEvents;
  readonly keepers: Pick<EventKeepers, 'all'>;
  readonly ask: AskKeeper;
  readonly clock: Pick<Clock, 'nowMs'>;
};

type Keeper = KeepersLine['keepers'][number];
/** `lines`: what it tells, or of one that cannot be asked why not. */
type Part = {
  readonly of: Pick<Keeper, 'keeper' | 'heard_at_ms' | 'log'>;
  readonly lines: AsyncGenerator<string, Told> | Told;
};

/** Three words of a process that lives: it says so every five seconds. */
const goneMs = 15_000;
/** Of all parts together; a reader keeps what it reads. */
const mostBytes = 64 * 1024 * 1024;

/** Each asks all processes, which look for two at a time. */
const mostStories = 8;

/** What all processes of the fleet tell, for few who ask at once. */
export class FleetEvents {
  readonly #deps: FleetEventsDeps;
  #stories = 0;

  constructor(deps: FleetEventsDeps) {
    this.#deps = deps;
  }

  /**
   * The lines that every process has of it, as they come, each with its newline; the last one says who told how much.
   * `log`: of this log alone.
   */
  async *tell(wanted: Wanted, log: string | null = null): AsyncGenerator<string> {
    if (this.#stories >= mostStories) {
      const itself = { keeper: this.#deps.self.name, heard_at_ms: this.#deps.clock.nowMs() };
      yield lastLine([
        { ...itself, told: 'nothing', why: `it tells ${mostStories} stories already; ask again` },
      ]);
      return;
    }
    this.#stories += 1;
    try {
      yield* fleetEvents(this.#deps, wanted, log);
    } finally {
      this.#stories -= 1;
    }
  }
}

const lastLine = (keepers: Keeper[]): string =>
  `${JSON.stringify({ kind: 'keepers', keepers } satisfies KeepersLine)}\n`;

async function* fleetEvents(
  deps: FleetEventsDeps,
  wanted: Wanted,
  log: string | null,
): AsyncGenerator<string> {
  const stop = new AbortController();
  const told = new Map<Part, Told>();
  const parts = (await partsOf(deps, wanted, stop.signal)).filter(({ of }) => log === null || of.log === log);
  const lines = merged(parts.map((part) => tellPart(part, wanted, told)));
  let bytes = 0;
  try {
    for await (const line of lines) {
      bytes += Buffer.byteLength(line) + 1;
      if (bytes > mostBytes) break;
      yield `${line}\n`;
    }
  } finally {
    stop.abort();
  }
  yield lastLine(parts.map((part) => keeperOf(part, told.get(part) ?? cutOff)));
}

const cutOff: Told = { told: 'some', why: `all together have told ${mostBytes} bytes` };

const keeperOf = ({ of }: Part, told: Told): Keeper => ({ ...of, ...told });

async function partsOf(deps: FleetEventsDeps, wanted: Wanted, signal: AbortSignal): Promise<readonly Part[]> {
  const { keepers, own, self, clock } = deps;
  const nowMs = clock.nowMs();
  const itself = {
    of: { keeper: self.name, heard_at_ms: nowMs, log: self.log },
    lines: own.tell(wanted, signal),
  };
  try {
    const others = (await keepers.all()).filter((keeper) => keeper.log !== self.log);
    const partOf = (keeper: HeardKeeper): Part => ({
      of: {
        keeper: `${keeper.component} ${keeper.host}`,
        heard_at_ms: nowMs - keeper.silentMs,
        log: keeper.log,
      },
      lines: linesOf(keeper, deps, wanted, signal),
    });
    return [itself, ...others.map(partOf)];
  } catch {
    return [
      itself,
      { of: { keeper: 'the other processes', heard_at_ms: nowMs }, lines: nobody(unknownOthers) },
    ];
  }
}

const unknownOthers = 'fleet state did not say which there are';

function linesOf(
  { address, keeps, silentMs }: HeardKeeper,
  { ask }: FleetEventsDeps,
  wanted: Wanted,
  signal: AbortSignal,
): Part['lines'] {
  if (silentMs > goneMs) return nobody('it is gone');
  if (!keeps) return nobody('its events go to standard output only');
  if (address === null) return nobody('it listens nowhere, so it cannot be asked');
  return ask(address, wanted, signal);
}

/** It told events instead of its files. */
const tooOld = 'its release is too old for its log to be followed';

const nobody = (why: string): Told => ({ told: 'nothing', why });

/** An error of one part is told, and the others go on. */
async function* tellPart(part: Part, wanted: Wanted, told: Map<Part, Told>): AsyncGenerator<string> {
  const { lines } = part;
  const ofFiles = wanted.follow === 'files';
  if ('told' in lines) return void told.set(part, lines);
  let count = 0;
  try {
    for (;;) {
      const { done, value } = await lines.next();
      if (ofFiles && (done !== true || (value.told === 'all' && value.files === undefined)))
        return void told.set(part, { told: 'nothing', why: tooOld });
      if (done === true) return void told.set(part, value);
      count += 1;
      yield value;
    }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    told.set(part, { told: count === 0 ? 'nothing' : 'some', why: `it did not answer: ${reason}` });
  } finally {
    await lines.return({ told: 'some', why: null });
  }
}

/** What several sources give, whoever has something; each is asked on when its last was taken. */
async function* merged(sources: readonly AsyncGenerator<string>[]): AsyncGenerator<string> {
  const ready: { readonly line: string; readonly taken: () => void }[] = [];
  const open = new Set(sources);
  let news = Promise.withResolvers<void>();
  const pump = async (source: AsyncGenerator<string>) => {
    for await (const line of source) {
      const { promise, resolve } = Promise.withResolvers<void>();
      ready.push({ line, taken: resolve });
      news.resolve();
      await promise;
    }
  };
  for (const source of sources) {
    void pump(source).finally(() => {
      open.delete(source);
      news.resolve();
    });
  }
  try {
    while (open.size > 0 || ready.length > 0) {
      const next = ready.shift();
      if (next === undefined) {
        await news.promise;
        news = Promise.withResolvers();
        continue;
      }
      yield next.line;
      next.taken();
    }
  } finally {
    // Those that wait to be asked on end here, and let go of what they hold.
    for (const source of sources) void source.return(undefined);
  }
}
