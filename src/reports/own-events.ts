import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import {
  answerAt,
  type FilePlace,
  questionAt,
  type Told,
  type Wanted,
  wantedOf,
} from '../protocol/fleet/events.ts';

export type OwnEventsOptions = {
  readonly log: Pick<EventLog, 'flush' | 'search' | 'files' | 'follow'>;
  readonly clock: Clock;
};

/** Gigabytes lie in the log, and this process has other work: a person asks for one story at a time. */
const mostSearches = 2;
/** A gigabyte on a slow disk; what is newest comes first. */
const searchMs = 5_000;
/** Some 8,000 events: the largest rollouts have a thousand. */
const mostBytes = 16 * 1024 * 1024;
/** Of one answer about one file, and at most one reading more. */
const mostPageBytes = 8 * 1024 * 1024;
/** What is on its way to the disk is there within a tenth of it, unless the disk fails. */
const flushMs = 1_000;

const all: Told = { told: 'all', why: null };
const some = (why: string): Told => ({ told: 'some', why });
const nothing = (why: string): Told => ({ told: 'nothing', why });
/** The rest of a file is in the next answers. */
const more = some('its file goes on');
/** What a reader of files does about either. */
export const isBusy = 'it is looking for others; ask again';
export const fileGone = 'this file of its log was removed';

/** What this process tells of its own log: bounded in bytes, in time, and in how many ask at once. */
export class OwnEvents {
  readonly #options: OwnEventsOptions;
  #searches = 0;

  constructor(options: OwnEventsOptions) {
    this.#options = options;
  }

  /** The lines that are wanted, then how much of them was told. */
  async *tell(wanted: Wanted, signal: AbortSignal): AsyncGenerator<string, Told> {
    if (this.#searches >= mostSearches) return nothing(isBusy);
    const { log, clock } = this.#options;
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    this.#searches += 1;
    try {
      await Promise.race([log.flush(), clock.sleep(flushMs, until)]);
      void clock.sleep(searchMs, until).then(() => ended.abort());
      const { follow } = wanted;
      if (follow === 'files') return await this.#files();
      return yield* follow === undefined ? this.#newest(wanted, until) : this.#page(follow, wanted, until);
    } finally {
      this.#searches -= 1;
      ended.abort();
    }
  }

  async *#newest(wanted: Wanted, until: AbortSignal): AsyncGenerator<string, Told> {
    const lines = this.#options.log.search(wanted, until);
    if (lines === null) return nothing(onlyStdout);
    let bytes = 0;
    for await (const found of lines) {
      if (wanted.verdicts === true && !found.startsWith(verdictMark)) continue;
      // With all events of a run, why would fill the room that they have.
      const line = wanted.rollout === null && wanted.verdicts !== true ? withoutWhy(found) : found;
      bytes += Buffer.byteLength(line) + 1;
      if (bytes > mostBytes) return some(`it told ${mostBytes} bytes; older events are left out`);
      yield line;
    }
    return until.aborted ? some(`it looked for ${searchMs / 1000} s; older events are left out`) : all;
  }

  async #files(): Promise<Told> {
    const files = await this.#options.log.files();
    return files === null ? nothing(onlyStdout) : { ...all, files: [...files] };
  }

  /** What one file has from a byte on, as much as one answer may have; a reader goes on from `read_to`. */
  async *#page(place: FilePlace, wanted: Wanted, until: AbortSignal): AsyncGenerator<string, Told> {
    const chunks = this.#options.log.follow(place, wanted, until);
    let [bytes, readTo] = [0, place.fromByte];
    try {
      while (bytes < mostPageBytes && !until.aborted) {
        const { done, value } = await chunks.next();
        if (done === true)
          return value === 'gone' ? nothing(fileGone) : { ...(until.aborted ? more : all), read_to: readTo };
        for (const line of value.lines) {
          bytes += Buffer.byteLength(line) + 1;
          yield line;
        }
        readTo = value.readTo;
      }
      return { ...more, read_to: readTo };
    } finally {
      await chunks.return('end');
    }
  }
}

const verdictMark = '{"kind":"verdict"';
const whyMark = '"why":';

/**
 * An event's line without why its rollout has the score that it has: that is most of what a line has, and it has the truth of a
 * dataset row. A line that is no JSON has come from somebody else's file, and is no event to anybody.
 */
export function withoutWhy(line: string): string {
  if (!line.includes(whyMark)) return line;
  const end = line.endsWith('\n') ? '\n' : '';
  try {
    const { why: _why, ...rest } = JSON.parse(line) as { readonly kind?: unknown; readonly why?: unknown };
    return rest.kind === 'verdict' ? JSON.stringify(rest) + end : line;
  } catch {
    return end;
  }
}

const onlyStdout =
  'its events go to standard output only: give its log to "corral rollout ID --events FILE", or "-" for standard input';

export type PeerAccess = {
  readonly own: OwnEvents;
  /** Where others reach this process. */
  readonly address: string;
  readonly tokens: {
    readonly peerToken: (statement: string) => string;
    readonly isPeerToken: (statement: string, presented: string) => boolean;
  };
};

/**
 * What another process of the fleet is answered, as lines; null: it is none, or asks for what nobody may. Whoever goes away
 * ends the search.
 */
export function answerPeer(
  { own, address, tokens }: PeerAccess,
  target: string,
  authorization: string | undefined,
): AsyncGenerator<string> | null {
  const presented = authorization?.replace(/^bearer +/i, '') ?? '';
  const wanted = wantedOf(target);
  if (wanted === null || !tokens.isPeerToken(questionAt(address, target), presented)) return null;
  return answerLines(own, wanted, tokens.peerToken(answerAt(address, target)));
}

async function* answerLines(own: OwnEvents, wanted: Wanted, proof: string): AsyncGenerator<string> {
  const gone = new AbortController();
  const lines = own.tell(wanted, gone.signal);
  try {
    yield `${JSON.stringify({ kind: 'begin', proof })}\n`;
    yield* asAnswer(lines);
  } finally {
    gone.abort();
    await lines.return({ told: 'some', why: null });
  }
}

async function* asAnswer(lines: AsyncGenerator<string, Told>): AsyncGenerator<string> {
  for (;;) {
    const { done, value } = await lines.next();
    if (done === true) {
      yield `${JSON.stringify({ kind: 'end', ...value })}\n`;
      return;
    }
    yield `${value}\n`;
  }
}
