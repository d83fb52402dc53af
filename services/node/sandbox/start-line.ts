/**
 * The starting budget of this machine: at most `atOnce` sandboxes start at a time, the others stand in line, first
 * come first served. Starting is what costs (a cold Node, mounts); sandboxes that run hold no place.
 */
export type StartLine = {
  /** Whether one more may line up. */
  hasRoom(): boolean;
  /** Resolves with how to give the place back, or with null when the signal aborts first. */
  enter(signal: AbortSignal): Promise<Leave | null>;
};

export type Leave = () => void;

export function createStartLine(atOnce: number, longest: number): StartLine {
  let starting = 0;
  const waiting: (() => void)[] = [];

  const leave = () => {
    starting -= 1;
    waiting.shift()?.();
  };
  const take = (): Leave => {
    starting += 1;
    let held = true;
    return () => {
      if (held) leave();
      held = false;
    };
  };
  const wait = (signal: AbortSignal) =>
    new Promise<Leave | null>((resolve) => {
      const turn = () => {
        signal.removeEventListener('abort', quit);
        resolve(take());
      };
      const quit = () => {
        waiting.splice(waiting.indexOf(turn), 1);
        resolve(null);
      };
      waiting.push(turn);
      signal.addEventListener('abort', quit, { once: true });
    });

  return {
    hasRoom: () => waiting.length < longest,
    enter: (signal) => {
      if (signal.aborted) return Promise.resolve(null);
      return starting < atOnce ? Promise.resolve(take()) : wait(signal);
    },
  };
}
