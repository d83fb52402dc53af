import { visibleLines } from '#src/model/visible-text.ts';

/** Writes lines for the person at the terminal; no character in them is an order to it. */
export function say(lines: string): void {
  process.stdout.write(`${visibleLines(lines)}\n`);
}

/** Whatever happens in `work`, Ctrl-C included, the fleet is stopped before this process ends. */
export async function untilEnd<Result>(
  fleet: { stop(): Promise<void> },
  work: () => Promise<Result>,
): Promise<Result> {
  const interrupted = () => {
    say('\nInterrupted: stopping the fleet.');
    void fleet.stop().finally(() => process.exit(130));
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    return await work();
  } finally {
    await fleet.stop();
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}
