import { closeSync } from 'node:fs';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { IdRanges } from './id-ranges.ts';
import { makeNamespace } from './make-namespace.ts';

/** A user namespace for one sandbox, and the ids of this host that are its own. */
export type OwnNamespace = {
  /** The host's id of the sandbox's user 0; its others follow. */
  readonly base: number;
  /** The open namespace, for the start; idempotent close. */
  readonly descriptor: number;
  close(): void;
  /** Lets another sandbox have the ids. */
  freeIds(): void;
};

export type Namespaces = {
  /** Rejects where none can be made. */
  take(): Promise<OwnNamespace>;
  /** Closes those that nobody took. */
  close(): void;
};

export type NamespacesTools = {
  readonly ranges: IdRanges;
  /** How many are kept ready: as many starts find theirs made. */
  readonly spares: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly log: Log;
  readonly make?: (base: number) => Promise<number>;
};

/**
 * Namespaces ahead of need: making one takes two programs, which a start that takes one ready does not wait for. They
 * are made again one at a time, and only when none was taken for a moment, so that starts under way keep the processor.
 */
export function createNamespaces({
  ranges,
  spares,
  clock,
  log,
  make = makeNamespace,
}: NamespacesTools): Namespaces {
  const ready: OwnNamespace[] = [];
  const closing = new AbortController();
  let takenAtMs = clock.monotonicMs();
  let filling = false;

  const makeOne = async (): Promise<OwnNamespace> => {
    const base = await ranges.take();
    try {
      return own(base, await make(base), ranges);
    } catch (thrown) {
      ranges.free(base);
      throw thrown;
    }
  };
  const putBy = async () => {
    const made = await makeOne();
    if (closing.signal.aborted) discard(made);
    else ready.push(made);
  };
  const untilQuiet = async () => {
    for (;;) {
      const leftMs = takenAtMs + quietMs - clock.monotonicMs();
      if (leftMs <= 0 || closing.signal.aborted) return;
      await clock.sleep(leftMs, closing.signal);
    }
  };
  const fill = async () => {
    if (filling) return;
    filling = true;
    try {
      while (!closing.signal.aborted && ready.length < spares) {
        await untilQuiet();
        if (!closing.signal.aborted) await putBy();
      }
    } catch (thrown) {
      // Whoever needs one makes it itself, and is told.
      log.warn('no user namespace could be made ahead', { error: String(thrown) });
    } finally {
      filling = false;
    }
  };
  return {
    take: async () => {
      takenAtMs = clock.monotonicMs();
      const taken = ready.shift() ?? (await makeOne());
      void fill();
      return taken;
    },
    close: () => {
      closing.abort();
      for (const each of ready.splice(0)) discard(each);
      ranges.close();
    },
  };
}

/** Longer than a start takes on a machine that has room. */
const quietMs = 300;

function own(base: number, descriptor: number, ranges: IdRanges): OwnNamespace {
  let open = true;
  let taken = true;
  return {
    base,
    descriptor,
    close: () => {
      if (open) closeSync(descriptor);
      open = false;
    },
    freeIds: () => {
      if (taken) ranges.free(base);
      taken = false;
    },
  };
}

function discard(namespace: OwnNamespace): void {
  namespace.close();
  namespace.freeIds();
}
