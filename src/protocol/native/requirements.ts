import { type Static, Type } from 'typebox';
import { type Amounts, mostDemandable } from '#src/model/amounts.ts';

const closed = { additionalProperties: false };
const Path = Type.String({ pattern: '^/', maxLength: 255, description: 'an absolute path' });
/** Each is looked at in the sandbox; its rollout's record keeps them until the first call. */
const mostFolders = 16;
const Task = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'sha256, in hex, of all that defines the task',
});

/** What a task demands; a demand that is not met is refused as `requirements_unmet` before the first call. */
export const RequiresBody = Type.Object(
  {
    workdir: Type.Optional(Path),
    workdir_access: Type.Optional(
      Type.Union([Type.Literal('read_write'), Type.Literal('read_only')], {
        description: 'default: read_write',
      }),
    ),
    folders: Type.Optional(
      Type.Array(Path, { maxItems: mostFolders, description: 'folders that commands must be able to write' }),
    ),
    user: Type.Optional(
      Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', description: 'the user that commands run as' }),
    ),
    memory_bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: mostDemandable.memoryBytes })),
    cpu_milli: Type.Optional(Type.Integer({ minimum: 0, maximum: mostDemandable.cpuMilli })),
    disk_bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: mostDemandable.diskBytes })),
    shm_bytes: Type.Optional(
      Type.Integer({ minimum: 0, maximum: mostDemandable.shmBytes, description: 'of /dev/shm' }),
    ),
    network: Type.Optional(Type.Union([Type.Literal('public'), Type.Literal('none')])),
    services: Type.Optional(Type.Integer({ minimum: 1 })),
    command_timeout_s: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    task: Type.Optional(Task),
  },
  { ...closed, title: 'Requirements' },
);
export type RequiresBody = Static<typeof RequiresBody>;

/** How each amount is named in a body. */
const amountNames = {
  memoryBytes: 'memory_bytes',
  cpuMilli: 'cpu_milli',
  diskBytes: 'disk_bytes',
  shmBytes: 'shm_bytes',
} as const satisfies Record<keyof Amounts, keyof RequiresBody>;

const pairs = Object.entries(amountNames) as readonly (readonly [keyof Amounts, AmountField])[];
type AmountField = (typeof amountNames)[keyof Amounts];

export function amountsOf(body: RequiresBody): Amounts {
  const entries = pairs.map(([name, field]) => [name, body[field]] as const);
  return Object.fromEntries(entries.filter(([, amount]) => amount !== undefined));
}

/** The inverse of {@link amountsOf}. */
export function requireAmounts(amounts: Amounts): RequiresBody {
  const entries = pairs.map(([name, field]) => [field, amounts[name]] as const);
  return Object.fromEntries(entries.filter(([, amount]) => amount !== undefined));
}

const Text = Type.String({ minLength: 1, maxLength: 2_000 });

/** Ends a rollout whose task cannot run here: discarded, blame `caller`. The texts are the evidence. */
export const RefuseBody = Type.Object(
  { requirement: Type.String({ minLength: 1, maxLength: 40 }), wanted: Text, given: Text, fix: Text },
  { ...closed, title: 'Refusal' },
);

const ofTask = {
  run: Type.Optional(Type.String()),
  environment: Type.String({ minLength: 1, description: 'name or name@version' }),
  task: Task,
  holder: Type.String({ minLength: 1, maxLength: 100, description: 'a unique id of the process that asks' }),
};

/** Asks for a task's standing; a holder that is told `play` asks again within the lease to keep it. */
export const ControlAskBody = Type.Object(
  {
    ...ofTask,
    again: Type.Optional(Type.Boolean({ description: 'true: forget what is recorded and play again' })),
  },
  { ...closed, title: 'StandingRequest' },
);

/** `inconclusive`: a control was lost or ran out of time; nothing is recorded. */
export const ControlResultBody = Type.Object(
  {
    ...ofTask,
    outcome: Type.Union([
      Type.Literal('proven'),
      Type.Literal('unproven'),
      Type.Literal('refused'),
      Type.Literal('inconclusive'),
    ]),
    reason: Type.Optional(Text),
    solution_verifier_took_s: Type.Optional(Type.Number({ minimum: 0 })),
  },
  { ...closed, title: 'ControlsOutcome' },
);

export const ControlAnswer = Type.Object(
  {
    standing: Type.Union([
      Type.Literal('proven'),
      Type.Literal('unproven'),
      Type.Literal('refused'),
      Type.Literal('play'),
      Type.Literal('wait'),
    ]),
    reason: Type.Optional(Type.String()),
    solution_verifier_took_s: Type.Optional(Type.Number()),
    lease_s: Type.Number(),
  },
  { title: 'Standing' },
);
export type ControlAnswer = Static<typeof ControlAnswer>;
