import type { LaunchReservation } from '#src/ports/fleet/pool.ts';

/** What a job tells of its launch: nothing until its worker has reserved. `attempt`: how often it was handed out then. */
export type TicketJob = Partial<LaunchReservation & { readonly attempt: number }>;

/** Where the tickets of one fleet are in Redis; the same on the side that offers them and on the side that works. */
export type TicketPlace = { readonly queue: string; readonly prefix: string };

export const ticketPlace = (fleet: string): TicketPlace => ({
  queue: 'launches',
  prefix: `corral-queue:{${fleet}}`,
});
