import type { Told, Wanted } from '#src/protocol/fleet/events.ts';

/** A process that writes events, as it says itself every few seconds. */
export type EventKeeper = {
  readonly component: 'gateway' | 'controller';
  /** In a cluster its pod. */
  readonly host: string;
  /** Where it can be asked, `http://10.0.0.7:8080`; null: nowhere, it does not listen. */
  readonly address: string | null;
  /** False: its events go to standard output only. */
  readonly keeps: boolean;
};

/** `log`: the folder that it writes to, whoever else does; of a process without one, the process. */
export type HeardKeeper = EventKeeper & { readonly log: string; readonly silentMs: number };

/**
 * Which logs there are, and who tells of each. A log whose last process has ended is remembered for a day: whoever asks
 * for a story is to know that a part of it may be gone.
 */
export interface EventKeepers {
  tell(log: string, keeper: EventKeeper): Promise<void>;
  /** Those heard last first. */
  all(): Promise<readonly HeardKeeper[]>;
}

/** The lines that another process has, then how much of them it told. Throws what asking throws. */
export type AskKeeper = (
  address: string,
  wanted: Wanted,
  signal: AbortSignal,
) => AsyncGenerator<string, Told>;
