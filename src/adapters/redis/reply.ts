/** What a script may answer, as ioredis hands it over. */
export type Reply = string | number | null | readonly Reply[];

/** Scripts and decoders are written together: a shape that does not fit is a defect, and says where. */
function misfit(expected: string, reply: Reply | undefined): TypeError {
  return new TypeError(`a script of fleet state answered ${JSON.stringify(reply)} where ${expected} belongs`);
}

export function listOf(reply: Reply | undefined): readonly Reply[] {
  if (Array.isArray(reply)) return reply as readonly Reply[];
  throw misfit('a list', reply);
}

export function textOf(reply: Reply | undefined): string {
  if (typeof reply === 'string') return reply;
  throw misfit('a text', reply);
}

/** Empty text stands for "none" in hashes, where there is no null. */
export function textOrNull(reply: Reply | undefined): string | null {
  return reply === null || reply === undefined || reply === '' ? null : textOf(reply);
}

export function numberOf(reply: Reply | undefined): number {
  const number = typeof reply === 'string' && reply !== '' ? Number(reply) : reply;
  if (typeof number === 'number' && !Number.isNaN(number)) return number;
  throw misfit('a number', reply);
}

export function numberOrNull(reply: Reply | undefined): number | null {
  return textOrNull(typeof reply === 'number' ? String(reply) : reply) === null ? null : numberOf(reply);
}
