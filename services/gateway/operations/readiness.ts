import type { Clock } from '#src/ports/clock.ts';

/** Something that this gateway itself cannot work without. `check` rejects, or resolves to a sentence about what is missing. */
export type Need = { readonly name: string; readonly check: () => Promise<string | null> };

export type Missing = { readonly name: string; readonly reason: string };

/** What is missing now; an answer that takes longer than `deadlineMs` counts as missing. */
export async function findMissing(
  needs: readonly Need[],
  deadlineMs: number,
  clock: Clock,
): Promise<readonly Missing[]> {
  const found = await Promise.all(needs.map((need) => reasonOf(need, deadlineMs, clock)));
  return found.filter((missing) => missing !== null);
}

async function reasonOf(need: Need, deadlineMs: number, clock: Clock): Promise<Missing | null> {
  const answered = new AbortController();
  const late = clock.sleep(deadlineMs, answered.signal).then(() => `no answer in ${deadlineMs} ms`);
  const asked = need.check().catch((error: unknown) => String(error));
  const reason = await Promise.race([asked, late]);
  answered.abort();
  return reason === null ? null : { name: need.name, reason };
}
