import type { Clock } from '../ports/clock.ts';
import type { FleetWatch, ProcessWord } from '../ports/fleet/watch.ts';

/** Often enough that a process that died is seen within seconds; a word costs Redis some 20 µs. */
const tellMs = 2_000;

/** What it says anew each time. */
export type Present = Pick<ProcessWord, 'state' | 'inHand' | 'atMost' | 'verdicts'>;

export type PresenceOptions = {
  readonly watch: Pick<FleetWatch, 'tell'>;
  readonly clock: Clock;
  readonly self: Pick<ProcessWord, 'kind' | 'host' | 'pid' | 'version'>;
  /** Its name among all processes of the fleet, another one after every start. */
  readonly process: string;
  readonly present: () => Present;
  /** Words that were not heard; the next one says all. */
  readonly onError: (thrown: unknown) => void;
  readonly signal: AbortSignal;
};

/** Says every two seconds that this process is there, and at the end that it left. Resolves then; never rejects. */
export async function tellPresence(options: PresenceOptions): Promise<void> {
  const { watch, clock, self, process, present, onError, signal } = options;
  const begunMs = clock.monotonicMs();
  const tell = async (now: Present) => {
    try {
      await watch.tell(process, { ...self, ageMs: Math.round(clock.monotonicMs() - begunMs), ...now });
    } catch (thrown) {
      onError(thrown);
    }
  };
  while (!signal.aborted) {
    await tell(present());
    await clock.sleep(tellMs, signal);
  }
  await tell({ ...present(), state: 'left', inHand: {} });
}
