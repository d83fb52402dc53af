/** What a job carries: the ticket's own name, because the job's id is only its slot and is used again. */
export type TicketJob = { readonly ticket: string };

/** Where the tickets of one fleet are in Redis; the same on the side that offers them and on the side that works. */
export type TicketPlace = { readonly queue: string; readonly prefix: string };

export const ticketPlace = (fleet: string): TicketPlace => ({
  queue: 'launches',
  prefix: `corral-queue:{${fleet}}`,
});
