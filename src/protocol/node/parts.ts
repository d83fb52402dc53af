import { type Static, Type } from 'typebox';
import type { LossCause } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import type { Template } from '#src/model/environment.ts';
import type { DataDigest, RolloutId, RunId, SandboxId, TemplateDigest, TenantId } from '#src/model/ids.ts';
import type { SandboxAddress } from '#src/model/rollout.ts';

const closed = { additionalProperties: false };
const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

/** An id becomes a folder, a host name and a cgroup: letters, digits and dashes, and no longer than a host name. */
export const sandboxIdPattern = /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/;

const SandboxIdText = Type.Unsafe<SandboxId>(Type.String({ pattern: sandboxIdPattern.source }));
const AbsolutePath = Type.String({ pattern: '^/[^\\u0000]*$' });
const Amount = Type.Integer({ minimum: 1 });
const Argv = Type.Array(Type.String(), { minItems: 1 });

const ImageBody = Type.Union([
  Type.Object({ kind: Type.Literal('host') }, closed),
  Type.Object(
    { kind: Type.Literal('rootfs'), path: AbsolutePath, config: Type.Optional(Type.String()) },
    closed,
  ),
  Type.Object(
    {
      kind: Type.Literal('image'),
      reference: Type.String(),
      anonymous: Type.Optional(Type.Literal(true)),
    },
    closed,
  ),
]);

const Texts = Type.Record(Type.String(), Type.String());

const PlacementBody = Type.Object(
  {
    runtimeClass: nullable(Type.String()),
    priorityClass: nullable(Type.String()),
    nodeSelector: Texts,
    tolerations: Type.Array(
      Type.Object(
        { key: Type.String(), value: nullable(Type.String()), effect: nullable(Type.String()) },
        closed,
      ),
    ),
    labels: Texts,
  },
  closed,
);

const DataBody = Type.Union([
  Type.Object({ source: AbsolutePath, target: AbsolutePath }, closed),
  Type.Object({ image: Type.String(), target: AbsolutePath }, closed),
  Type.Object(
    {
      build: Type.Object(
        {
          argv: Argv,
          inputs: Type.Array(AbsolutePath),
          timeoutMs: Amount,
          digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
        },
        closed,
      ),
      target: AbsolutePath,
    },
    closed,
  ),
]);

export const TemplateBody = Type.Unsafe<Template>(
  Type.Object(
    {
      digest: Type.String({ pattern: '^[A-Za-z0-9:-]{1,128}$' }),
      image: ImageBody,
      cpu: Type.Object({ requestMilli: Amount, limitMilli: Amount }, closed),
      memory: Type.Object({ requestBytes: Amount, limitBytes: Amount }, closed),
      diskBytes: Amount,
      shmBytes: Type.Optional(Amount),
      diskApart: Type.Optional(Type.Literal(true)),
      devices: Type.Optional(Type.Record(Type.String(), Amount)),
      processes: Amount,
      network: Type.String(),
      mirrors: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String(), { minItems: 1 }))),
      runAs: Type.Union([Type.Literal('user'), Type.Literal('root')]),
      uid: Type.Union([Type.Literal('separate'), Type.Literal('single')]),
      placement: PlacementBody,
      env: Type.Record(Type.String({ pattern: '^[^=\\u0000]+$' }), Type.String({ pattern: '^[^\\u0000]*$' })),
      data: Type.Array(DataBody),
      folders: Type.Optional(Type.Array(AbsolutePath)),
      role: Type.Optional(Type.Literal('grader')),
      prepare: Type.Array(Argv),
      startTimeoutMs: Amount,
    },
    closed,
  ),
);

export const OwnerBody = Type.Object(
  {
    tenant: Type.Unsafe<TenantId>(Type.String()),
    run: Type.Unsafe<RunId>(Type.String()),
    rollout: Type.Unsafe<RolloutId>(Type.String()),
    attempt: Type.Integer(),
    role: Type.Union([Type.Literal('policy'), Type.Literal('grader')]),
  },
  closed,
);

/** Data that programs make once: where each stands. `message`: why there is none. */
export const DataStateBody = Type.Object({
  digest: Type.Unsafe<DataDigest>(Type.String()),
  argv: Argv,
  state: Type.Union([Type.Literal('building'), Type.Literal('ready'), Type.Literal('failed')]),
  /** How long it takes, or took where it was made in this life of node; null where it was there already. */
  seconds: nullable(Type.Number()),
  bytes: Type.Number(),
  message: nullable(Type.String()),
});
export type DataState = Static<typeof DataStateBody>;

const Address = Type.Unsafe<SandboxAddress>(Type.String());

const ProvidedSandboxBody = Type.Object({
  sandbox: SandboxIdText,
  template: Type.Unsafe<TemplateDigest>(Type.String()),
  phase: Type.Union([Type.Literal('starting'), Type.Literal('running'), Type.Literal('gone')]),
  address: nullable(Address),
  createdAtMs: Type.Number(),
  owner: nullable(OwnerBody),
  expiresAtMs: nullable(Type.Number()),
});

export const SandboxList = Type.Array(ProvidedSandboxBody);

/** Complete by type: a cause that is missing here does not compile. */
const lossCauses = {
  sandboxd_killed: true,
  sandbox_exited: true,
  deleted: true,
  evicted: true,
  preempted: true,
  node_drained: true,
  node_lost: true,
  pod_replaced: true,
  boot_changed: true,
  out_of_memory: true,
  node_out_of_memory: true,
  out_of_disk: true,
  node_disk_full: true,
  node_limit_used_up: true,
  request_lost: true,
  expired: true,
} as const satisfies Record<LossCause, true>;

const Cause = Type.Unsafe<LossCause>(Type.String({ enum: Object.keys(lossCauses) }));
const EvidenceBody = Type.Unsafe<Evidence>(Type.Record(Type.String(), Type.Unknown()));

export const ProviderEventLine = Type.Union([
  Type.Object({ kind: Type.Literal('listed'), sandboxes: SandboxList }),
  Type.Object({ kind: Type.Literal('running'), sandbox: SandboxIdText, address: Address }),
  Type.Object({ kind: Type.Literal('gone'), sandbox: SandboxIdText, cause: Cause, evidence: EvidenceBody }),
]);
export type ProviderEventLine = Static<typeof ProviderEventLine>;
