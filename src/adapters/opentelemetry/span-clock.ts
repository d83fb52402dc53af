/** How far the clock of a process may be from the machine's: less than any span that is worth a look. */
const mostApartMs = 5;

/**
 * The wall clock, with microseconds: spans of one process are in order to less than a millisecond, and those of several
 * are as near as their machines' clocks. It follows a clock that is set, and forgets what it has drifted by.
 */
export function createSpanClock(wallMs = Date.now, monotonicMs = () => performance.now()): () => number {
  let anchorMs = wallMs() - monotonicMs();
  return () => {
    const [wall, now] = [wallMs(), anchorMs + monotonicMs()];
    if (Math.abs(now - wall) <= mostApartMs) return now;
    anchorMs = wall - monotonicMs();
    return wall;
  };
}
