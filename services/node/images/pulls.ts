import { Failure } from '#src/failure/failure.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { StoredImage } from './store.ts';

/** Pulls that run, and pulls that failed a moment ago. A whole burst asks for one image, which is pulled once. */
export type Pulls = {
  /**
   * Joins the pull with this key or begins it, and waits for a short time. Resolves with how long it has run. Throws why it failed, also
   * some time later.
   */
  join(key: string, reference: string, start: StartPull): Promise<number>;
  /** Resolves when all have ended. */
  ended(): Promise<void>;
};

/** `onTurn`: it keeps other pulls waiting from now on. */
export type StartPull = (onTurn: () => void) => Promise<StoredImage>;

/** Most images are here by then. A create that waits longer would keep others waiting: a client has few connections. */
export const patienceMs = 1_000;
/**
 * A failed pull is not tried again before as much time has passed as it kept others waiting: a registry is not asked at each create, and an
 * image that takes an hour and then fails leaves most of the time to others.
 */
const pauses = { leastMs: 5_000, mostMs: 10 * 60_000 };
/** Pulls that run, wait, or have failed a moment ago. */
const mostPulls = 10_000;

type Pulling = {
  readonly startedAtMs: number;
  turnAtMs: number | null;
  endedAtMs: number | null;
  failure: Failure | null;
  done: Promise<void>;
};

export function createPulls({ clock, log }: { readonly clock: Clock; readonly log: Log }): Pulls {
  const pulls = new Map<string, Pulling>();

  const isOver = ({ turnAtMs, endedAtMs }: Pulling) => {
    if (endedAtMs === null) return false;
    const tookMs = turnAtMs === null ? 0 : endedAtMs - turnAtMs;
    const pauseMs = Math.min(Math.max(tookMs, pauses.leastMs), pauses.mostMs);
    return clock.monotonicMs() - endedAtMs > pauseMs;
  };

  const follow = async (key: string, reference: string, pulling: Pulling, start: StartPull) => {
    try {
      const image = await start(() => (pulling.turnAtMs = clock.monotonicMs()));
      pulls.delete(key);
      log.info('image pulled', { image: reference, id: image.id, layers: image.layers.length });
    } catch (thrown) {
      pulling.failure = asFailure(reference, thrown);
      const { message, cause } = pulling.failure;
      const words = typeof cause === 'string' ? cause : '';
      log.warn('image pull failed', { image: reference, error: message, words });
    } finally {
      pulling.endedAtMs = clock.monotonicMs();
    }
  };

  const begin = (key: string, reference: string, start: StartPull): Pulling => {
    for (const [other, old] of pulls) if (isOver(old)) pulls.delete(other);
    if (pulls.size >= mostPulls) throw tooMany(reference);
    const startedAtMs = clock.monotonicMs();
    const done = Promise.resolve();
    const pulling: Pulling = { startedAtMs, turnAtMs: null, endedAtMs: null, failure: null, done };
    pulls.set(key, pulling);
    log.info('image pull started', { image: reference });
    pulling.done = follow(key, reference, pulling, start);
    return pulling;
  };

  return {
    join: async (key, reference, start) => {
      const known = pulls.get(key);
      const pulling = known === undefined || isOver(known) ? begin(key, reference, start) : known;
      await soon(clock, pulling.done);
      if (pulling.failure !== null) throw pulling.failure;
      return clock.monotonicMs() - pulling.startedAtMs;
    },
    ended: async () => void (await Promise.all([...pulls.values()].map(({ done }) => done))),
  };
}

/** What comes within a short time; null: it takes longer. */
export async function soon<Result>(clock: Clock, coming: Promise<Result>): Promise<Result | null> {
  const answered = new AbortController();
  const tired = clock.sleep(patienceMs, answered.signal).then(() => null);
  return Promise.race([coming, tired]).finally(() => answered.abort());
}

/** Anything that is not one yet is of this machine, and may be over soon. */
export function asFailure(image: string, thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure('provider_unavailable', `the image ${image} could not be made ready: ${why}`, {
    evidence: { image },
    cause: thrown,
  });
}

const tooMany = (image: string) =>
  new Failure('unschedulable', `the image ${image} waits: ${mostPulls} images are being pulled`, {
    evidence: { image },
    retryAfterMs: 1_000,
  });
