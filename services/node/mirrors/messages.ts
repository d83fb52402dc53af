import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Mirrors } from '#src/model/mirrors.ts';
import type { Range } from './addresses.ts';

/*
 * What node and the proxy of a sandbox say to one another. The proxy reads what strangers have written, so node checks its messages.
 */

/** Descriptors of the proxy, after those of Node's own channel. */
export const proxyDescriptors = { channel: 3, tally: 4, connections: [5, 6], closeFrom: 7 } as const;

const Count = Type.Integer({ minimum: 0 });
const Use = Type.Object({
  asked: Count,
  failed: Count,
  confirmed: Count,
  refused: Count,
  lost: Count,
  open: Count,
  underWay: Count,
});
const Doubt = Type.Union([Type.Literal('load'), Type.Literal('unproven'), Type.Null()]);

const Usual = Type.Record(Type.String({ maxLength: 2_000 }), Type.Integer({ minimum: 1, maximum: 9 }));

const ProxyOrder = Type.Union([
  /** The door, a listener in the sandbox's network, comes with it. */
  Type.Object({
    kind: Type.Literal('start'),
    mirrors: Type.Unsafe<Mirrors>(Type.Record(Type.String(), Type.Array(Type.String()))),
    bounds: Type.Object({
      connections: Count,
      underWay: Count,
      bytes: Count,
      rate: Count,
      burst: Count,
    }),
    privateAddresses: Type.Unsafe<readonly Range[]>(
      Type.Array(Type.Object({ address: Type.String(), prefix: Count })),
    ),
    /** This machine's id of the sandbox's grader. */
    graderId: Count,
    /** What was counted before, by a proxy that died. */
    tally: Type.Object({ policy: Use, grader: Use, undecided: Count, doubt: Doubt }),
    /** Addresses to ask once, because this machine has had no good answer from them for a day. */
    unproven: Type.Unsafe<readonly string[]>(Type.Array(Type.String())),
    /** What the others answer when they work. */
    usual: Usual,
  }),
  /** Answers a report of use. */
  Type.Object({ kind: Type.Literal('standing'), doubt: Doubt }),
]);
export type ProxyOrder = Static<typeof ProxyOrder>;
export type StartOrder = Extract<ProxyOrder, { kind: 'start' }>;

/** Throws for anything else. */
export function readProxyOrder(value: unknown): ProxyOrder {
  if (!Value.Check(ProxyOrder, value)) throw new Error('not an order of node');
  return value;
}

const ProxyMessage = Type.Union([
  /** It has given up its rights, and waits for the order. */
  Type.Object({ kind: Type.Literal('ready') }),
  /** It serves. `trouble`: which unproven address cannot be reached, and why; null: all can. `usual`: what these answered. */
  Type.Object({
    kind: Type.Literal('serves'),
    trouble: Type.Union([Type.String(), Type.Null()]),
    usual: Usual,
  }),
  /** Requests since the last report, the addresses that answered well since, and one that failed now. */
  Type.Object({
    kind: Type.Literal('use'),
    asked: Type.Integer({ minimum: 0 }),
    good: Type.Array(Type.String({ maxLength: 2_000 }), { maxItems: 16 }),
    failed: Type.Union([Type.String({ maxLength: 2_000 }), Type.Null()]),
  }),
]);
export type ProxyMessage = Static<typeof ProxyMessage>;
export type UseReport = Extract<ProxyMessage, { kind: 'use' }>;

/** Null: no message of a proxy. */
export const readProxyMessage = (value: unknown): ProxyMessage | null =>
  Value.Check(ProxyMessage, value) ? value : null;
