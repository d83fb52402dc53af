import type { Tally } from './tally.ts';
import { silenceMs } from './upstream.ts';

/**
 * How long a mirror owes something. Its time passes only while the sandbox waits: a reader that does not read keeps the mirror waiting,
 * and not the other way round.
 */
export type Progress = {
  /** The mirror sent something, or all. */
  made(isLast?: boolean): void;
  silentMs(): number;
  end(): void;
};

/** After this without a byte it is not known how a request will end. */
export const quietMs = 1_000;

/** A reader that reads nothing for this long has left: what waits for it takes memory. */
const unreadMs = 60_000;

const lookEveryMs = 250;

export type ProgressOptions = {
  readonly tally: Pick<Tally, 'silent'>;
  /** Whether the sandbox has read all that it was sent. */
  readonly hasRead: () => boolean;
  readonly onSilent: () => void;
  readonly onUnread: () => void;
  readonly nowMs?: () => number;
};

export function createProgress(options: ProgressOptions): Progress {
  const { tally, hasRead, onSilent, onUnread, nowMs = () => performance.now() } = options;
  let sentAtMs = nowMs();
  let readAtMs = nowMs();
  let isWhole = false;
  let isQuiet = false;
  const silentMs = () => (isWhole || !hasRead() ? 0 : nowMs() - sentAtMs);
  const setQuiet = (quiet: boolean) => {
    if (quiet !== isQuiet) tally.silent(quiet ? 1 : -1);
    isQuiet = quiet;
  };
  const timer = setInterval(() => {
    if (hasRead()) readAtMs = nowMs();
    else sentAtMs = nowMs();
    setQuiet(silentMs() >= quietMs);
    if (silentMs() >= silenceMs) onSilent();
    if (nowMs() - readAtMs >= unreadMs) onUnread();
  }, lookEveryMs);
  return {
    made: (isLast = false) => {
      sentAtMs = nowMs();
      isWhole = isLast;
      setQuiet(false);
    },
    silentMs,
    end: () => {
      clearInterval(timer);
      setQuiet(false);
    },
  };
}
