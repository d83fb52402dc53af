import { every } from '#src/platform/every.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { CommandError } from '../command-error.ts';
import { timeOfDay } from '../print/amounts.ts';
import { frameOf } from './frame.ts';
import type { Line } from './lines.ts';
import type { OpenScreen, Screen } from './screen.ts';

/** The gateway does not read more often. */
const refreshMs = 1_000;

/** The last answer with its age, and what went wrong since. */
export type Followed<Answer> = {
  readonly told: { readonly answer: Answer; readonly agoMs: number } | null;
  readonly trouble: string | null;
};

export type FollowOptions<Answer> = {
  /** Throws a CommandError; one that is the reader's own ends the watching. */
  readonly ask: () => Promise<Answer>;
  readonly frame: (followed: Followed<Answer>, size: ReturnType<OpenScreen['size']>) => readonly Line[];
  readonly screen: Screen;
  readonly clock: Clock;
};

/**
 * Shows what a gateway answers on the whole screen, each second, until the reader has seen enough. A gateway that does not answer is asked
 * again; the last answer stays, with its age. Throws what is the reader's own to fix, when the screen has been given back.
 */
export async function followAnswers<Answer>(options: FollowOptions<Answer>): Promise<void> {
  const { ask, frame, screen, clock } = options;
  const enough = new AbortController();
  let told: { readonly answer: Answer; readonly atMs: number } | null = null;
  let trouble: string | null = null;
  let readersOwn: CommandError | null = null;

  const followed = (): Followed<Answer> => ({
    told: told === null ? null : { answer: told.answer, agoMs: clock.monotonicMs() - told.atMs },
    trouble,
  });
  const open = screen.open({ onEnd: () => enough.abort(), onResize: () => drawing.poke() });
  const onError = (thrown: unknown) => {
    if (!(thrown instanceof CommandError)) throw thrown;
    trouble = `trying again: ${thrown.message}`;
    if (thrown.fault !== 'yours') return;
    readersOwn = thrown;
    enough.abort();
  };
  const loop = { intervalMs: refreshMs, clock, signal: enough.signal, onError };
  const drawing = every(loop, async () => open.draw(frame(followed(), open.size())));
  const asking = every(loop, async () => {
    try {
      told = { answer: await ask(), atMs: clock.monotonicMs() };
      trouble = null;
    } finally {
      drawing.poke();
    }
  });
  try {
    // The question that is out when the reader has seen enough is not waited for; an end of asking for any other reason is.
    await Promise.all([drawing.done, Promise.race([drawing.done, asking.done])]);
  } finally {
    enough.abort();
    open.close();
  }
  if (readersOwn !== null) throw readersOwn as CommandError;
}

/** Shows the fleet on the whole screen, as {@link followAnswers} does. */
export function followFleet({
  url,
  ...options
}: Omit<FollowOptions<FleetAnswer>, 'frame'> & { readonly url: string }): Promise<void> {
  const nowText = () => timeOfDay(options.clock.nowMs());
  return followAnswers({
    ...options,
    frame: (followed, size) => frameOf({ url, timeOfDay: nowText(), ...followed, footer: 'q ends' }, size),
  });
}
