import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  AbsolutePath,
  Argv,
  Bytes,
  CpuShare,
  Duration,
  LabelKey,
  LabelValue,
  labelKeyPattern,
  MemoryShare,
  Name,
  strict,
} from './parts.ts';

/** Labels by which sandboxes are found again, and those of the tools around them, are not an author's. */
const ownLabels = ['corral.dev/', 'app.kubernetes.io/'].map((prefix) => `(?!${prefix})`).join('');

const labelTexts = (options: {
  readonly keys: string;
  readonly title: string;
  readonly description: string;
}) =>
  Type.Record(Type.String({ pattern: options.keys }), LabelValue, {
    additionalProperties: false,
    title: options.title,
    description: options.description,
  });

const TolerationYaml = strict(
  {
    key: LabelKey,
    value: Type.Optional(LabelValue),
    effect: Type.Optional(
      Type.Union([Type.Literal('NoSchedule'), Type.Literal('PreferNoSchedule'), Type.Literal('NoExecute')], {
        description: 'NoSchedule, PreferNoSchedule or NoExecute',
      }),
    ),
  },
  { description: '{key, value?, effect?}' },
);

/** What a sandbox is created from. */
export const SandboxSchema = strict({
  image: Type.String({
    minLength: 1,
    description: 'host, rootfs:PATH or an image reference such as python:3.12-slim',
  }),
  cpu: Type.Optional(CpuShare),
  memory: Type.Optional(MemoryShare),
  disk: Type.Optional(Bytes),
  processes: Type.Optional(Type.Integer({ minimum: 16, description: 'a whole number from 16' })),
  network: Type.Optional(Name),
  run_as: Type.Optional(
    Type.Union([Type.Literal('user'), Type.Literal('root')], { description: 'user or root' }),
  ),
  uid: Type.Optional(
    Type.Union([Type.Literal('separate'), Type.Literal('single')], { description: 'separate or single' }),
  ),
  runtime_class: Type.Optional(Name),
  priority_class: Type.Optional(Name),
  node_selector: Type.Optional(
    labelTexts({
      keys: labelKeyPattern,
      title: 'node labels are such as pool or example.com/pool',
      description: 'node labels and their values: {pool: rollouts}',
    }),
  ),
  tolerations: Type.Optional(Type.Array(TolerationYaml)),
  labels: Type.Optional(
    labelTexts({
      keys: `^${ownLabels}${labelKeyPattern.slice(1)}`,
      title: 'labels are such as team or example.com/team, and corral.dev/… and app.kubernetes.io/… are ours',
      description: 'labels and their values: {team: reasoning}',
    }),
  ),
  env: Type.Optional(
    Type.Record(Type.String({ pattern: '^(?!CORRAL_)[A-Za-z_][A-Za-z0-9_]*$' }), Type.String(), {
      additionalProperties: false,
      title: 'variables are letters, digits and _, and CORRAL_… are ours',
      description: 'variables by name, all texts: {LANG: C.UTF-8}',
    }),
  ),
  data: Type.Optional(Type.Array(strict({ source: Type.String({ minLength: 1 }), target: AbsolutePath }))),
  prepare: Type.Optional(Type.Array(Argv)),
  start_timeout: Type.Optional(Duration),
});

export type SandboxYaml = Static<typeof SandboxSchema>;
