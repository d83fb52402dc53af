import { type Static, Type } from 'typebox';

/*
 * What E2B's clients send to its control plane, as far as the fleet can act on it. Members that are not named here are
 * let pass: their SDKs send more with each version, and what of it would be a promise is refused by name.
 */

const Texts = Type.Record(Type.String(), Type.String());
const Network = Type.Object({
  allowOut: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  denyOut: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
});

export const RunParams = Type.Object({ run: Type.Optional(Type.String()) });
export const SandboxParams = Type.Object({ run: Type.Optional(Type.String()), id: Type.String() });
export const AliasParams = Type.Object({ run: Type.Optional(Type.String()), alias: Type.String() });
export const TemplateParams = Type.Object({ run: Type.Optional(Type.String()), template: Type.String() });
export const FileParams = Type.Object({ ...TemplateParams.properties, hash: Type.String() });
export const BuildParams = Type.Object({
  run: Type.Optional(Type.String()),
  template: Type.String(),
  build: Type.String(),
});

export const NewSandbox = Type.Object({
  templateID: Type.String({ minLength: 1 }),
  timeout: Type.Optional(Type.Number()),
  metadata: Type.Optional(Texts),
  envVars: Type.Optional(Texts),
  allow_internet_access: Type.Optional(Type.Boolean()),
  network: Type.Optional(Network),
  mcp: Type.Optional(Type.Unknown()),
  iam: Type.Optional(Type.Unknown()),
  volumeMounts: Type.Optional(Type.Array(Type.Unknown())),
});
export type NewSandbox = Static<typeof NewSandbox>;

export const CreateHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ description: 'a repeat with the same key opens no second sandbox, and returns the first' }),
  ),
});

/** A body may be left out where only its `timeout` would be read, which is the environment's to set. */
export const AnyBody = Type.Unknown();

export const NetworkUpdate = Type.Object({
  ...Network.properties,
  allow_internet_access: Type.Optional(Type.Boolean()),
});
export type NetworkUpdate = Static<typeof NetworkUpdate>;

export const ListQuery = Type.Object({
  metadata: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
  template: Type.Optional(Type.String()),
  startedAfter: Type.Optional(Type.String()),
  nextToken: Type.Optional(Type.String({ pattern: '^\\d{0,16}$' })),
  limit: Type.Optional(Type.String()),
});
export type ListQuery = Static<typeof ListQuery>;

export const ListHeaders = Type.Object({
  'x-next-token': Type.Optional(
    Type.String({ description: '`nextToken` of the next page; absent on the last one' }),
  ),
});

export const NewTemplate = Type.Object({
  name: Type.Optional(Type.String()),
  alias: Type.Optional(Type.String()),
  tags: Type.Optional(Type.Array(Type.String())),
});

const BuildStep = Type.Object({
  type: Type.Optional(Type.String()),
  args: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
});
export type BuildStep = { readonly type?: string; readonly args?: readonly string[] | null };

export const BuildStart = Type.Object({
  fromImage: Type.Optional(Type.String()),
  fromTemplate: Type.Optional(Type.String()),
  fromImageRegistry: Type.Optional(Type.Unknown()),
  steps: Type.Optional(Type.Array(BuildStep, { maxItems: 256 })),
  startCmd: Type.Optional(Type.String()),
  readyCmd: Type.Optional(Type.String()),
});
export type BuildStart = Static<typeof BuildStart>;
