import type { MirrorDoubt } from '#src/protocol/sandboxd/mirror-tally.ts';
import type { ProxyMessage } from '../messages.ts';

/** What node hears of this sandbox's use, at most once a second but for failures, which it answers. */
export type Reports = {
  readonly asked: () => void;
  /** The mirror with this address answered well. */
  readonly good: (address: string) => void;
  /** Returns why the sandbox may have caused the failure of this mirror. */
  readonly failed: (address: string) => Promise<MirrorDoubt | null>;
  /** Node's answer to the oldest report. */
  readonly heard: (doubt: MirrorDoubt | null) => void;
};

const everyMs = 1_000;

export function createReports(say: (message: ProxyMessage) => void): Reports {
  const unanswered: ((doubt: MirrorDoubt | null) => void)[] = [];
  const good = new Set<string>();
  let asked = 0;
  let timer: NodeJS.Timeout | null = null;
  const report = (failed: string | null) => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    say({ kind: 'use', asked, good: [...good], failed });
    asked = 0;
    good.clear();
    return new Promise<MirrorDoubt | null>((resolve) => void unanswered.push(resolve));
  };
  const reportSoon = () => {
    timer ??= setTimeout(() => void report(null), everyMs);
  };
  return {
    asked: () => {
      asked += 1;
      reportSoon();
    },
    good: (address) => {
      good.add(address);
      reportSoon();
    },
    failed: report,
    heard: (doubt) => unanswered.shift()?.(doubt),
  };
}
