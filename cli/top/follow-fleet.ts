import { every } from '#src/platform/every.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { CommandError } from '../command-error.ts';
import { timeOfDay } from '../print/amounts.ts';
import { frameOf, type View } from './frame.ts';
import type { Screen } from './screen.ts';

/** The gateway does not read more often. */
const refreshMs = 1_000;

export type FollowOptions = {
  readonly url: string;
  /** Throws a CommandError; one that is the reader's own ends the watching. */
  readonly ask: () => Promise<FleetAnswer>;
  readonly screen: Screen;
  readonly clock: Clock;
};

/**
 * Shows the fleet on the whole screen until the reader has seen enough. A gateway that does not answer is asked again; what it
 * said last stays, with its age. Throws what is the reader's own to fix, when the screen has been given back.
 */
export async function followFleet({ url, ask, screen, clock }: FollowOptions): Promise<void> {
  const enough = new AbortController();
  let told: { readonly answer: FleetAnswer; readonly atMs: number } | null = null;
  let trouble: string | null = null;
  let readersOwn: CommandError | null = null;

  const view = (): View => ({
    url,
    timeOfDay: timeOfDay(clock.nowMs()),
    told: told === null ? null : { answer: told.answer, agoMs: clock.monotonicMs() - told.atMs },
    trouble,
    footer: 'q ends',
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
  const drawing = every(loop, async () => open.draw(frameOf(view(), open.size())));
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
