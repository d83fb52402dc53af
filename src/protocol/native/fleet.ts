import { type Static, Type } from 'typebox';
import { nullable } from './parts.ts';

const Counts = Type.Record(Type.String(), Type.Number());

const BlameName = Type.Union([Type.Literal('model'), Type.Literal('caller'), Type.Literal('infrastructure')]);

/** The rollouts of one run that wait for one template. */
const WaitingLine = Type.Object(
  {
    tenant: Type.String(),
    run: Type.String(),
    environment: nullable(Type.String()),
    template: Type.String(),
    waiting: Type.Number(),
    place: Type.Number({
      description: 'of its first rollout, 1 is served next; the template’s runs take turns',
    }),
    oldest_ms: Type.Number({ description: 'how long its first rollout has been waiting' }),
    oldest_rollout: Type.String(),
  },
  { title: 'WaitingRun' },
);

const Waiting = Type.Object(
  {
    rollouts: Type.Number({ description: 'also those whose caller is silent, for two minutes' }),
    oldest_ms: nullable(Type.Number()),
    runs: Type.Array(WaitingLine),
    others: Type.Object(
      { runs: Type.Number(), waiting: Type.Number() },
      { description: 'runs that this key may not see by name' },
    ),
    runs_left_out: Type.Number({
      description: 'how many runs are not listed; the list begins with the longest wait',
    }),
  },
  { title: 'FleetLine' },
);

const TemplateLine = Type.Object(
  {
    template: Type.String(),
    environment: nullable(Type.String()),
    ready: Type.Number(),
    starting: Type.Number(),
    held: Type.Number(),
    waiting: Type.Number(),
    announced: Type.Number(),
    breaker: Type.Union([Type.Literal('closed'), Type.Literal('open'), Type.Literal('probing')]),
    last_failure: nullable(Type.Object({ code: Type.String(), blame: BlameName, ago_ms: Type.Number() })),
  },
  { title: 'Template' },
);

const ProcessLine = Type.Object(
  {
    kind: Type.Union([Type.Literal('gateway'), Type.Literal('controller')]),
    state: Type.Union(
      [Type.Literal('serving'), Type.Literal('leaving'), Type.Literal('left'), Type.Literal('silent')],
      {
        description:
          'silent: no word from it for 6 s; left: it shut down in order. Both are listed for five minutes',
      },
    ),
    host: nullable(Type.String({ description: 'null: not for this key' })),
    pid: nullable(Type.Number()),
    version: Type.String(),
    age_ms: Type.Number({ description: 'at its last word' }),
    heard_ms: Type.Number({ description: 'since its last word' }),
    in_hand: Counts,
    at_most: Counts,
    unready: Type.Optional(
      Type.String({ description: 'why it is not ready: its timings are not those of the fleet' }),
    ),
  },
  { title: 'Process' },
);

const LaunchLine = Type.Object(
  {
    sandbox: Type.String(),
    environment: Type.String(),
    reason: Type.Union([Type.Literal('waiting'), Type.Literal('announced'), Type.Literal('refill')]),
    run: nullable(
      Type.String({ description: 'tenant/run whose turn it was; null: none, or not for this key' }),
    ),
    state: Type.Union([
      Type.Literal('waiting'),
      Type.Literal('running'),
      Type.Literal('ready'),
      Type.Literal('failed'),
    ]),
    ago_ms: Type.Number({ description: 'since when it waits or runs, or when it ended' }),
    took_ms: nullable(Type.Number({ description: 'from its reservation to its end' })),
    rollout: nullable(Type.String({ description: 'which waiting rollout got it' })),
    failure: nullable(Type.String({ description: 'the code and its words' })),
  },
  { title: 'Launch' },
);

/** The fleet as it was `age_ms` ago; a newer reading can be had in `next_in_ms`. */
export const FleetAnswer = Type.Object(
  {
    fleet: Type.String(),
    age_ms: Type.Number(),
    next_in_ms: Type.Number(),
    sees: Type.Union([Type.Literal('all tenants'), Type.Literal('own tenant')]),
    rollouts: Type.Object({ open: Type.Number(), calls_running: Type.Number() }),
    waiting: Waiting,
    sandboxes: Type.Object({
      all: Type.Number(),
      starting: Type.Number(),
      starting_at_most: nullable(Type.Number()),
      leaving: Type.Number(),
    }),
    templates: Type.Array(TemplateLine),
    templates_left_out: Type.Number({ description: 'beyond 300; idle ones are not counted' }),
    launches: Type.Array(LaunchLine, { description: 'the 15 newest, the newest first' }),
    verdicts: Type.Object({
      of_ms: Type.Number(),
      scorable: Type.Number(),
      discarded: Type.Number(),
      blame: Counts,
      codes: Counts,
    }),
    processes: Type.Array(ProcessLine),
    redis: Type.Object({
      version: nullable(Type.String()),
      maxmemory_policy: nullable(Type.String()),
      append_only: nullable(Type.Boolean()),
      used_bytes: Type.Number(),
      limit_bytes: nullable(Type.Number()),
      reading_ms: Type.Number({ description: 'what this reading took of Redis’ time' }),
    }),
  },
  { title: 'Fleet' },
);
export type FleetAnswer = Static<typeof FleetAnswer>;
