import { defaultWaitS, maxWaitS } from '#src/protocol/native/parts.ts';

/** How long a request may be held, from its `wait_s`. */
export function waitMsOf(waitS: string | undefined): number {
  const seconds = waitS === undefined ? defaultWaitS : Math.min(Number(waitS), maxWaitS);
  return seconds * 1000;
}

/** A command's own timeout, from its `timeout_s`; null leaves it to the tool. */
export function timeoutMsOf(timeoutS: number | undefined): number | null {
  return timeoutS === undefined ? null : Math.ceil(timeoutS * 1000);
}
