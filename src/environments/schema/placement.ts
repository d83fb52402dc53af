import { type Static, Type } from 'typebox';
import { LabelKey, LabelValue, labelKeyPattern, Name, strict } from './parts.ts';

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

/** Where a cluster puts sandboxes: of one environment, or of all that an operator runs. */
export const placementFields = {
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
};

export const PlacementSchema = strict(placementFields);

export type PlacementYaml = Static<typeof PlacementSchema>;
