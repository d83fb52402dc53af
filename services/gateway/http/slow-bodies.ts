import type { TenantId } from '#src/model/ids.ts';

/*
 * A request holds its place while its body comes, and a client decides how fast that is. One tenant whose bodies come slowly could
 * hold all places for the five minutes that a request may take to come. So while places are short, and only then, a body must keep
 * a minimum rate, or it makes room for the next request:
 *
 *   - Only slow bodies are dropped. A request whose body is whole keeps its place for as long as its work takes.
 *   - A tenant's request drops slow bodies of its own tenant, and of tenants that hold more than their share: the places divided
 *     by the tenants that hold one or ask for one. A fleet's only tenant has all places.
 *   - Bodies of tenants over their share go first, and of these the slowest. A body that is passed on to a sandbox goes after the
 *     others, because a part of it may be there already.
 */

/** The largest JSON body, 1 MiB and its wrapping, needs 3.7 kB/s to be whole before Node ends its request, after 300 s. */
export const minBytesPerSecond = 4_096;

/** What a lost packet or a busy moment of this process costs. A body that was fast before gets no more than that. */
export const patienceMs = 10_000;

/** A body that is being read. It is judged only while its client is waited for: a slow sandbox is not the client's doing. */
export class ComingBody {
  readonly tenant: TenantId;
  /** Passed on to a sandbox as it comes. */
  readonly streamed: boolean;
  /** From then on it is slower than the minimum. Each byte buys time, and no more than the patience is saved up. */
  #dueMs: number;
  /** Since when its client is not waited for; null while it is. */
  #pausedAtMs: number | null = null;

  constructor(tenant: TenantId, streamed: boolean, nowMs: number) {
    this.tenant = tenant;
    this.streamed = streamed;
    this.#dueMs = nowMs + patienceMs;
  }

  came(bytes: number, nowMs: number): void {
    const boughtMs = (bytes / minBytesPerSecond) * 1_000;
    this.#dueMs = Math.min(Math.max(this.#dueMs, nowMs) + boughtMs, nowMs + patienceMs);
    this.#pausedAtMs = nowMs;
  }

  awaits(nowMs: number): void {
    if (this.#pausedAtMs !== null) this.#dueMs += nowMs - this.#pausedAtMs;
    this.#pausedAtMs = null;
  }

  /** How long it has been too slow; at most 0: it is not. */
  lateMs(nowMs: number): number {
    return this.#pausedAtMs === null ? nowMs - this.#dueMs : 0;
  }
}

/** What is short: places, or bytes of bodies. */
export type Shortage = {
  readonly asking: TenantId;
  readonly limit: number;
  /** What each tenant holds of it. */
  readonly held: ReadonlyMap<TenantId, number>;
};

/** The body that makes room; null: none does. */
export function chooseDropped<Body extends ComingBody>(
  bodies: Iterable<Body>,
  shortage: Shortage,
  nowMs: number,
): Body | null {
  const { asking, held } = shortage;
  const share = shareOf(shortage);
  const isOver = ({ tenant }: Body) => (held.get(tenant) ?? 0) > share;
  let chosen: Ranked<Body> | null = null;
  for (const body of bodies) {
    const lateMs = body.lateMs(nowMs);
    const over = isOver(body);
    if (lateMs <= 0 || !(over || body.tenant === asking)) continue;
    const ranked = { body, over, lateMs };
    if (chosen === null || goesBefore(ranked, chosen)) chosen = ranked;
  }
  return chosen === null ? null : chosen.body;
}

type Ranked<Body> = { readonly body: Body; readonly over: boolean; readonly lateMs: number };

function shareOf({ asking, limit, held }: Shortage): number {
  return limit / new Set([...held.keys(), asking]).size;
}

function goesBefore(one: Ranked<ComingBody>, other: Ranked<ComingBody>): boolean {
  if (one.over !== other.over) return one.over;
  if (one.body.streamed !== other.body.streamed) return other.body.streamed;
  return one.lateMs > other.lateMs;
}
