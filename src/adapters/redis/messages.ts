import type { Redis } from 'ioredis';

export type Messages = {
  /** Returns how to stop listening. */
  readonly listen: (channel: string, listener: (message: string) => void) => () => void;
};

/** Spreads the messages of some channels to those who listen. A message is a hint, so a lost one costs only time. */
export async function subscribe(client: Redis, channels: readonly string[]): Promise<Messages> {
  const listeners = new Map(channels.map((channel) => [channel, new Set<(message: string) => void>()]));
  client.on('message', (channel: string, message: string) => {
    for (const listener of listeners.get(channel) ?? []) listener(message);
  });
  await client.subscribe(...channels);
  return {
    listen: (channel, listener) => {
      const own = (message: string) => listener(message);
      listeners.get(channel)?.add(own);
      return () => listeners.get(channel)?.delete(own);
    },
  };
}
