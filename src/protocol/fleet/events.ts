import { type Static, Type } from 'typebox';
import {
  isIdText,
  rolloutId,
  type RolloutId,
  runId,
  type RunId,
  tenantId,
  type TenantId,
} from '#src/model/ids.ts';

/*
 * How processes of a fleet read each other's event logs, and a gateway tells a rollout's whole story. Every answer is
 * lines of JSON, so that none of it must stand in anybody's memory:
 *
 *   {"kind":"begin","proof":"…"}      at once: it is a process of this fleet, and looks
 *   {"kind":"call_settled", …}        events, as they were written
 *   {"kind":"end","told":"all", …}    what of its log it told; an answer without this line broke off
 *
 * Both sides prove that they have the fleet key, for this question alone, at this address alone: an address may have passed
 * to somebody else, who must neither be believed nor be given anything that opens another process.
 *
 * A gateway's answer to a caller ends with a line that says the same of every process that keeps, or kept, events.
 */

/** Whose events: of a run, of a rollout in one run or in all of them; null: any. Deeds are never among them. */
export type Wanted = {
  readonly tenant: TenantId | null;
  readonly run: RunId | null;
  readonly rollout: RolloutId | null;
  /** Of a run, its verdicts alone, each with its why; who is older tells all events, without. */
  readonly verdicts?: true;
};

export const fleetEventsPath = '/fleet/events';

const verdicts = 'verdicts';

/** The request's target. `nonce`: no question is asked twice. */
export function targetOf(wanted: Wanted, nonce: string): string {
  const query = new URLSearchParams({ nonce });
  for (const part of ['tenant', 'run', 'rollout'] as const) {
    const text = wanted[part];
    if (text !== null) query.set(part, text);
  }
  if (wanted.verdicts === true) query.set('only', verdicts);
  return `${fleetEventsPath}?${query.toString()}`;
}

/** What the tokens of a question and of its answer are made for. */
export const questionAt = (address: string, target: string) => `asks ${address}${target}`;
export const answerAt = (address: string, target: string) => `answers ${address}${target}`;

/** The inverse of {@link targetOf}; null for what is none, or names no tenant: no process asks for everybody's. */
export function wantedOf(target: string): Wanted | null {
  const [path, search = ''] = target.split('?', 2);
  const query = new URLSearchParams(search);
  const tenant = query.get('tenant');
  const given = [...query.values()];
  if (path !== fleetEventsPath || tenant === null || !given.every(isIdText)) return null;
  const [run, rollout] = [query.get('run'), query.get('rollout')];
  return {
    tenant: tenantId(tenant),
    run: run === null ? null : runId(run),
    rollout: rollout === null ? null : rolloutId(rollout),
    ...(query.get('only') === verdicts ? { verdicts: true } : {}),
  };
}

const told = {
  told: Type.Union([Type.Literal('all'), Type.Literal('some'), Type.Literal('nothing')]),
  /** Why not all, for people. */
  why: Type.Union([Type.String(), Type.Null()]),
};

/** How much of what a process keeps it has told. */
export const Told = Type.Object(told);
export type Told = Static<typeof Told>;

/** The first line of what one process tells of its log. */
export const BeginLine = Type.Object({ kind: Type.Literal('begin'), proof: Type.String() });

/** The last line of what one process tells of its log. */
export const EndLine = Type.Object({ kind: Type.Literal('end'), ...told });

/** The last line of what a gateway tells: every process that keeps events, or kept some and is gone. */
export const KeepersLine = Type.Object({
  kind: Type.Literal('keepers'),
  keepers: Type.Array(
    Type.Object({
      /** `gateway corral-gateway-7d9f-abcde`. */
      keeper: Type.String(),
      /** When it was last heard of. */
      heard_at_ms: Type.Number(),
      ...told,
    }),
  ),
});
export type KeepersLine = Static<typeof KeepersLine>;
