import { type Static, Type } from 'typebox';
import { hostUsersSettings, imagePullPolicies } from '#src/model/cluster.ts';
import { Bytes, CommandVariables, Cpu, Duration, Name, strict } from './parts.ts';
import { PlacementSchema } from './placement.ts';

const byte = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const ipv4 = String.raw`(?:${byte}\.){3}${byte}\/(?:3[0-2]|[12]?\d)`;
/** Loose: what is no address in spite of it is refused by the API server when the policy is created. */
const ipv6 = String.raw`[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*\/(?:12[0-8]|1[01]\d|[1-9]?\d)`;

const Cidr = Type.String({
  pattern: `^(?:${ipv4}|${ipv6})$`,
  description: 'a range of addresses such as 10.0.0.0/8 or 2001:db8::/32',
});

const EgressPort = Type.Union(
  [
    Type.Integer({ minimum: 1, maximum: 65_535 }),
    Type.String({ pattern: String.raw`^[1-9]\d{0,4}\/(?:tcp|udp)$` }),
  ],
  { description: 'a port such as 443, which is TCP, or 53/udp' },
);

const ImageReference = Type.String({ minLength: 1, description: 'an image reference' });

const BakedFolder = Type.String({
  pattern: '^/[A-Za-z0-9._/-]+$',
  description: 'a folder such as /.corral/payload',
});

/** `baked`, where it is baked in, or the image that brings sandboxd along. */
const Sandboxd = Type.Union(
  [
    Type.Literal('baked'),
    strict({ baked: BakedFolder }),
    strict({ image_volume: ImageReference }),
    strict({ init_container: ImageReference }),
  ],
  { description: 'baked, {baked: FOLDER}, {image_volume: IMAGE} or {init_container: IMAGE}' },
);

const EgressYaml = strict(
  {
    cidr: Cidr,
    except: Type.Optional(Type.Array(Cidr)),
    ports: Type.Optional(Type.Array(EgressPort, { description: 'a list of ports: [443, 53/udp]' })),
  },
  { description: '{cidr, except?, ports?}' },
);

const NetworkYaml = strict({
  dns: Type.Optional(
    Type.Union([Type.Literal('ClusterFirst'), Type.Literal('Default'), Type.Literal('None')], {
      description: 'ClusterFirst, Default or None',
    }),
  ),
  env: Type.Optional(CommandVariables),
  egress: Type.Optional(Type.Array(EgressYaml)),
});

/** What an operator says of the cluster that sandboxes run on. */
export const ClusterSchema = strict({
  namespace: Name,
  sandboxd: Sandboxd,
  port: Type.Optional(
    Type.Integer({ minimum: 1024, maximum: 65_535, description: 'a port from 1024 to 65535' }),
  ),
  image_pull_policy: Type.Optional(
    Type.Union(
      imagePullPolicies.map((policy) => Type.Literal(policy)),
      { description: imagePullPolicies.join(', ') },
    ),
  ),
  image_pull_secrets: Type.Optional(Type.Array(Name)),
  uid: Type.Optional(
    Type.Union([Type.Literal('separate'), Type.Literal('single')], { description: 'separate or single' }),
  ),
  host_users: Type.Optional(
    Type.Union(
      hostUsersSettings.map((setting) => Type.Literal(setting)),
      { description: hostUsersSettings.join(', ') },
    ),
  ),
  node_loss: Type.Optional(Duration),
  networks: Type.Optional(
    Type.Record(Type.String({ pattern: '^(?!none$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$' }), NetworkYaml, {
      additionalProperties: false,
      title: 'network classes are lower-case letters, digits and dashes, and `none` is always there',
      description:
        'network classes by name: {proxy: {dns: ClusterFirst, env: {HTTPS_PROXY: ...}, egress: [{cidr: ...}]}}',
    }),
  ),
  placement: Type.Optional(PlacementSchema),
});

export type ClusterYaml = Static<typeof ClusterSchema>;

const Patterns = Type.Array(Type.String({ minLength: 1 }), {
  description: 'a list of texts in which * stands for anything',
});

/** What the operator allows; everything that is not named is open, but for networks. */
export const PolicySchema = strict({
  images: Type.Optional(Patterns),
  data: Type.Optional(Patterns),
  networks: Type.Optional(Type.Array(Name)),
  mirrors: Type.Optional(
    Type.Array(Type.String({ pattern: '^https?://[^/*]+' }), {
      description: 'a list of addresses such as https://packages.example/, each with everything below it',
    }),
  ),
  run_as: Type.Optional(
    Type.Array(Type.Union([Type.Literal('user'), Type.Literal('root')]), {
      description: 'a list of user and root',
    }),
  ),
  runtime_classes: Type.Optional(Patterns),
  priority_classes: Type.Optional(Patterns),
  node_selectors: Type.Optional(Patterns),
  tolerations: Type.Optional(Patterns),
  labels: Type.Optional(Patterns),
  ceilings: Type.Optional(
    strict({
      cpu: Type.Optional(Cpu),
      memory: Type.Optional(Bytes),
      disk: Type.Optional(Bytes),
      shm: Type.Optional(Bytes),
      processes: Type.Optional(Type.Integer({ minimum: 1 })),
      rollout: Type.Optional(Duration),
      hard_life: Type.Optional(Duration),
      pool: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
  ),
  machine: Type.Optional(
    strict({ cpu: Type.Optional(Cpu), memory: Type.Optional(Bytes), disk: Type.Optional(Bytes) }),
  ),
});

export type PolicyYaml = Static<typeof PolicySchema>;
