import { expect, vi } from 'vitest';

/** Longer than a node needs to be given up and to come back, on a busy machine. */
const timeout = 60_000;
const interval = 200;

/** Reads until what it reads matches; `expect.poll` would need to know which of several concurrent tests asks. */
export const eventually = (read: () => Promise<unknown>, expected: object): Promise<void> =>
  vi.waitFor(async () => expect(await read()).toMatchObject(expected), { timeout, interval });
