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
  /** By a reader that follows logs: which files a log has, or one of them from a byte on. A process of an older release tells its newest events instead. */
  readonly follow?: 'files' | FilePlace;
};

/** Where a reader of a log has come: files only grow, and no two processes write to the same one. */
export type FilePlace = { readonly file: string; readonly fromByte: number };

export const fleetEventsPath = '/fleet/events';

const verdicts = 'verdicts';
const files = 'files';

/** The request's target. `nonce`: no question is asked twice. */
export function targetOf(wanted: Wanted, nonce: string): string {
  const query = new URLSearchParams({ nonce });
  for (const part of ['tenant', 'run', 'rollout'] as const) {
    const text = wanted[part];
    if (text !== null) query.set(part, text);
  }
  if (wanted.verdicts === true) query.set('only', verdicts);
  if (wanted.follow === 'files') query.set('only', files);
  else if (wanted.follow !== undefined) {
    query.set('file', wanted.follow.file);
    query.set('from', String(wanted.follow.fromByte));
  }
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
    ...followOf(query),
  };
}

function followOf(query: URLSearchParams): Pick<Wanted, 'follow'> {
  if (query.get('only') === files) return { follow: 'files' };
  const file = query.get('file');
  const fromByte = Number(query.get('from') ?? 0);
  return file === null || !Number.isSafeInteger(fromByte) || fromByte < 0
    ? {}
    : { follow: { file, fromByte } };
}

/** A file of a log. */
const LogFile = Type.Object({
  name: Type.String(),
  bytes: Type.Integer(),
  /** When the first event in it happened; null if it has none. */
  first_at_ms: Type.Union([Type.Number(), Type.Null()]),
});
export type LogFile = Static<typeof LogFile>;

const told = {
  told: Type.Union([Type.Literal('all'), Type.Literal('some'), Type.Literal('nothing')]),
  /** Why not all, for people. */
  why: Type.Union([Type.String(), Type.Null()]),
  /** If its files were asked for. */
  files: Type.Optional(Type.Array(LogFile)),
  /** If a file was asked for: the byte to go on from. */
  read_to: Type.Optional(Type.Integer()),
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
      /** The log's own name, by which its files are asked for; older gateways do not have it. */
      log: Type.Optional(Type.String()),
      ...told,
    }),
  ),
});
export type KeepersLine = Static<typeof KeepersLine>;
