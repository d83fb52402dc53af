import { type Static, Type } from 'typebox';
import { Bytes, Cpu, Duration, Name, strict } from './parts.ts';

const Patterns = Type.Array(Type.String({ minLength: 1 }), {
  description: 'a list of texts in which * stands for anything',
});

/** What the operator allows; everything that is not named is open, but for networks. */
export const PolicySchema = strict({
  images: Type.Optional(Patterns),
  data: Type.Optional(Patterns),
  networks: Type.Optional(Type.Array(Name)),
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
      processes: Type.Optional(Type.Integer({ minimum: 1 })),
      rollout: Type.Optional(Duration),
      hard_life: Type.Optional(Duration),
      pool: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
  ),
});

export type PolicyYaml = Static<typeof PolicySchema>;
