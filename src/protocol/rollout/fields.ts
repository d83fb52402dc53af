import { type Static, type TSchema, Type } from 'typebox';
import type { LossCause } from '#src/failure/codes.ts';
import type { Face } from '#src/model/face.ts';
import {
  bootId,
  environmentName,
  environmentVersion,
  itemKey,
  sandboxId,
  templateDigest,
} from '#src/model/ids.ts';
import {
  noTags,
  type RolloutState,
  type RolloutTags,
  type RolloutVerdict,
  sandboxAddress,
} from '#src/model/rollout.ts';

/**
 * Every field of a rollout that more than scripts read, a row each. A field is added here, and nowhere else: Redis' hash, the
 * script that creates it, the record, the label in its sandbox, what is left of it when it is over, and the native face's
 * answer are made from this table. What only scripts read (`ordinal`, `gradeTurn`, …) is told in adapters/redis/KEYS.md.
 *
 * A field that trainers bring is `claimed`, mostly also `told` (optional, because sandboxes that were bound before lack it) and
 * kept `over`; then its value is missing in two places that do not compile without it, the requests of claiming/claim-request.ts.
 */
type Goes = {
  /**
   * Each claim brings it, and the first one's is kept: of the request itself, or of its dataset row. An empty text is not
   * written.
   */
  readonly claimed?: 'of_request' | 'of_row';
  /** It is no field of the record itself: a part of that is made of it and others, or only scripts read it. */
  readonly apart?: 'in_epoch' | 'in_verdict' | 'for_scripts';
  /** Told to the sandbox at bind, by this schema, and written back from there when Redis has forgotten the rollout. */
  readonly told?: TSchema;
  /** Outlives the rollout with its line (KEYS.md): in any case, or where it is no longer than what Redis packs. */
  readonly over?: 'always' | 'if_short';
  /** Its name on the native face, as `shown` by its kind. */
  readonly view?: string;
};

/** How values of a kind stand in a hash, where an empty text and null are none, and how the native face shows them. */
type Kind = {
  readonly read: (text: string | null) => unknown;
  readonly write: (value: never) => string;
  readonly schema: TSchema;
  readonly show: (value: never) => unknown;
};

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const asItIs = (value: unknown) => value;
const instant = (atMs: number) => new Date(atMs).toISOString();

function present(text: string | null): string {
  if (text === null || text === '') throw new TypeError('a rollout lacks a field that all have');
  return text;
}

const unlessNone = <Value>(text: string | null, valueOf: (text: string) => Value): Value | null =>
  text === null || text === '' ? null : valueOf(text);

function numeric(text: string): number {
  const number = Number(text);
  if (Number.isNaN(number)) throw new TypeError(`a rollout has ${JSON.stringify(text)} for a number`);
  return number;
}

const text = { schema: Type.String(), show: asItIs };
const textOrNull = { schema: orNull(Type.String()), show: asItIs };

const word = <Word extends string>(named: (text: string) => Word) => ({
  ...text,
  read: (text: string | null) => named(present(text)),
  write: (value: Word): string => value,
});

const wordOrNull = <Word extends string>(named: (text: string) => Word) => ({
  ...textOrNull,
  read: (text: string | null) => unlessNone(text, named),
  write: (value: Word | null): string => value ?? '',
});

const number = {
  schema: Type.Number(),
  show: asItIs,
  read: (text: string | null) => numeric(present(text)),
  write: String,
};

const numberOrNull = {
  schema: orNull(Type.Number()),
  show: asItIs,
  read: (text: string | null) => unlessNone(text, numeric),
  write: (value: number | null) => (value === null ? '' : String(value)),
};

/** A sum that begins with its first part. */
const sum = { ...number, read: (text: string | null) => unlessNone(text, numeric) ?? 0 };

/** How often something has happened, which for most is never. */
const times = { ...sum, write: (value: number) => (value === 0 ? '' : String(value)) };

const durationMs = { ...number, write: (value: number) => String(Math.round(value)) };
/** ISO 8601 on the native face. */
const time = { ...number, schema: Type.String(), show: instant };
const timeOrNull = {
  ...numberOrNull,
  schema: orNull(Type.String()),
  show: (atMs: number | null) => (atMs === null ? null : instant(atMs)),
};

const flag = {
  schema: Type.Boolean(),
  show: asItIs,
  read: (text: string | null) => text === '1',
  write: (value: boolean) => (value ? '1' : ''),
};

/** Most rollouts have none, and then nothing is written. */
const tags = {
  schema: Type.Unknown(),
  show: asItIs,
  read: (text: string | null): RolloutTags =>
    unlessNone(text, (json) => JSON.parse(json) as RolloutTags) ?? noTags,
  write: (value: RolloutTags) =>
    value.step === null && value.labels.length === 0 ? '' : JSON.stringify(value),
};

const Tags = Type.Object({ step: orNull(Type.Integer()), labels: Type.Array(Type.String()) });

export const rolloutFields = {
  // What it was opened with.
  face: {
    ...word((text) => text as Face),
    claimed: 'of_request',
    told: Type.Union([Type.Literal('rft'), Type.Literal('native'), Type.Literal('e2b')]),
    over: 'always',
    view: 'face',
  },
  environment: {
    ...word(environmentName),
    claimed: 'of_request',
    told: Type.String(),
    over: 'always',
    view: 'environment',
  },
  version: {
    ...word(environmentVersion),
    claimed: 'of_request',
    told: Type.String(),
    over: 'always',
    view: 'version',
  },
  template: { ...word(templateDigest), claimed: 'of_request', told: Type.String(), over: 'always' },
  itemKey: {
    ...word(itemKey),
    claimed: 'of_request',
    told: Type.String(),
    over: 'always',
    view: 'item_key',
  },
  /** Digest of the fields of its dataset row that its environment reads, to refuse another row; null: no call brought a row. */
  itemDigest: {
    ...wordOrNull(String),
    claimed: 'of_request',
    told: Type.Optional(Type.String()),
    over: 'always',
  },
  /** On the native face `step` and `labels`. */
  tags: { ...tags, claimed: 'of_request', told: Type.Optional(Tags), over: 'if_short' },
  idleMs: { ...durationMs, claimed: 'of_request', told: Type.Integer({ minimum: 0 }), apart: 'for_scripts' },
  hardLifeMs: {
    ...durationMs,
    claimed: 'of_request',
    told: Type.Integer({ minimum: 0 }),
    apart: 'for_scripts',
  },
  /**
   * A call brought a dataset row, kept beside the record until the rollout is over; see `claiming/dataset-row.ts`. Where Redis
   * has forgotten it, nothing that needs it may go on as if there was none.
   */
  hadRow: { ...flag, claimed: 'of_row', told: Type.Optional(Type.Boolean()) },
  /** Digest of that row. */
  row: { ...wordOrNull(String), claimed: 'of_row', apart: 'for_scripts' },
  /** What its task demands of the sandbox, {@link SandboxRequirements} as JSON; looked at before its first call. */
  needs: { ...wordOrNull(String), claimed: 'of_request', told: Type.Optional(Type.String()) },
  wave: { ...number, told: Type.Integer({ minimum: 1 }), over: 'always', view: 'wave' },

  // Where it lives. `sandbox` and `boot` are its epoch.
  /** Raised by every grant and swap: who holds an older one must re-read; of two sandboxes of a rollout, the higher one is newer. */
  generation: { ...number, told: Type.Integer({ minimum: 1 }), over: 'always' },
  sandbox: { ...wordOrNull(sandboxId), apart: 'in_epoch' },
  boot: { ...wordOrNull(bootId), apart: 'in_epoch' },
  address: { ...wordOrNull(sandboxAddress) },
  /**
   * The boot that said at its bind, before anything of the policy ran there, that commands have another id than sandboxd. Null: they may
   * have its id, and can write what it says.
   */
  idsApartIn: wordOrNull(bootId),
  launchType: { ...wordOrNull((text) => text as 'warm' | 'cold'), view: 'launch_type' },
  /** How many sandboxes were lost while only set-up had run; each next one is given its state by a replay (lib/setup.lua). */
  heals: { ...times, told: Type.Optional(Type.Integer({ minimum: 1 })), over: 'if_short', view: 'heals' },
  /** Why the last of them was lost, until the replay is done. */
  healing: wordOrNull((text) => text as LossCause),

  // What has become of it: its place, and its verdict.
  state: { ...word((text) => text as RolloutState), over: 'always', view: 'state' },
  /** Why it closed: finished, deleted, scored, superseded, run closed, idle, hard life. */
  closedBy: { ...wordOrNull(String), over: 'always', view: 'closed_by' },
  /** Decided by lib/verdict.lua alone. */
  verdict: { ...word((text) => text as RolloutVerdict), over: 'always' },
  /** When that was decided. Scripts' callers receive it when a replica of Redis has it. */
  decidedAtMs: { ...timeOrNull, apart: 'in_verdict' },
  /** The policy broke its own sandbox; later calls answer 200 with this reason. */
  broken: { ...wordOrNull(String), over: 'always', view: 'broken' },
  score: { ...numberOrNull, over: 'always', view: 'score' },
  /** Its score stays as it was reported, and reports, means and regrades leave it out. A discard has its reason in its evidence. */
  voidedAtMs: { ...timeOrNull, over: 'if_short', view: 'voided_at' },
  voidReason: { ...wordOrNull(String), over: 'if_short', view: 'void_reason' },
  /** Why it can never be scored, as JSON. */
  discarded: { ...wordOrNull(String), apart: 'in_verdict' },
  /** The mark of that, which outlives the rest of it. */
  suspected: { ...wordOrNull(String), apart: 'in_verdict', over: 'always' },
  /** Its code, cause and time, for the line of a rollout that is over. */
  discard: { ...wordOrNull(String), apart: 'in_verdict', over: 'always' },
  taintCause: { ...wordOrNull(String), apart: 'in_verdict', over: 'always' },
  taintAtMs: { ...timeOrNull, apart: 'in_verdict', over: 'always' },
  /** Distinct tool calls counted against the budget. */
  calls: { ...number, over: 'always', view: 'call_count' },
  /** How long processes worked between its calls, in milliseconds, for graders that charge time. */
  backgroundMs: sum,
  placedAtMs: { ...time, over: 'always', view: 'placed_at' },
  claimedAtMs: { ...timeOrNull, view: 'claimed_at' },
  activeAtMs: { ...timeOrNull, view: 'active_at' },
  closedAtMs: { ...timeOrNull, over: 'always', view: 'closed_at' },
  leaseUntilMs: { ...time, over: 'always', view: 'lease_until' },
} as const satisfies Readonly<Record<string, Kind & Goes>>;

type Fields = typeof rolloutFields;
export type FieldName = keyof Fields;
export type FieldValues = { readonly [Name in FieldName]: ReturnType<Fields[Name]['read']> };
type NamesWith<Column> = { [Name in FieldName]: Fields[Name] extends Column ? Name : never }[FieldName];

/** What a request says of the rollout that it may open. */
export type Opening = Pick<FieldValues, NamesWith<{ claimed: 'of_request' }>>;
/** The record, but for what is made of several fields. */
export type PlainFields = Omit<FieldValues, NamesWith<{ apart: string }>>;
/** What its sandbox is told. */
export type Told = Pick<FieldValues, NamesWith<{ told: TSchema }>>;

const rows = Object.entries(rolloutFields) as readonly (readonly [FieldName, Kind & Goes])[];
const namesOf = (is: (row: Goes) => boolean): readonly FieldName[] =>
  rows.filter(([, row]) => is(row)).map(([name]) => name);

/** Which scripts reply as they are; lib/verdict.lua makes the verdict of those that decide it. */
export const replyFields = namesOf(({ apart }) => apart !== 'for_scripts' && apart !== 'in_verdict');
/** What a claim brings, in the order in which the script is given them. */
export const claimedFields = namesOf(({ claimed }) => claimed !== undefined);
export const toldFields = namesOf(({ told }) => told !== undefined) as readonly (keyof Told)[];
export const fieldsOver = {
  always: namesOf(({ over }) => over === 'always'),
  ifShort: namesOf(({ over }) => over === 'if_short'),
};

/** As the hash keeps it; empty: not at all. */
export function textOf(name: FieldName, value: FieldValues[FieldName] | undefined): string {
  const kind: Kind = rolloutFields[name];
  return value === undefined ? '' : kind.write(value as never);
}

const plain = rows.filter(([, { apart }]) => apart === undefined);

/** The values of fields, by their texts. */
export function plainFieldsOf(textOf: (name: FieldName) => string | null): PlainFields {
  return Object.fromEntries(plain.map(([name, { read }]) => [name, read(textOf(name))])) as PlainFields;
}

type ToldSchemas = { readonly [Name in NamesWith<{ told: TSchema }>]: Fields[Name]['told'] };
export const toldSchemas = Object.fromEntries(
  rows.flatMap(([name, { told }]) => (told === undefined ? [] : [[name, told]])),
) as ToldSchemas;

type ShownSchemas = {
  readonly [Name in NamesWith<{ view: string }> as Fields[Name]['view']]: Fields[Name]['schema'];
};
/** Of the native face's answer, and that part of it. */
export const shownSchemas = Object.fromEntries(
  rows.flatMap(([, { view, schema }]) => (view === undefined ? [] : [[view, schema]])),
) as ShownSchemas;

type Shown = { [Name in keyof ShownSchemas]: Static<ShownSchemas[Name]> };

export function shownFields(record: PlainFields): Shown {
  const values: Partial<FieldValues> = record;
  const shown = rows.flatMap(([name, { view, show }]) =>
    view === undefined ? [] : [[view, show(values[name] as never)]],
  );
  return Object.fromEntries(shown) as Shown;
}
