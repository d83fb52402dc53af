import type { TSchema } from 'typebox';
import { EnvironmentSchema } from '#src/environments/schema/environment.ts';
import { ClusterSchema, PolicySchema } from '#src/environments/schema/operator.ts';
import { addHoverTexts, type Place } from './hover-texts.ts';

const schemas: Readonly<Record<string, { readonly title: string; readonly schema: TSchema }>> = {
  environment: { title: 'An environment of Corral', schema: EnvironmentSchema },
  policy: { title: 'What the operator of a Corral fleet allows environments', schema: PolicySchema },
  cluster: { title: 'The cluster that a Corral fleet has its sandboxes on', schema: ClusterSchema },
};

/** The files of `schemas/`, by name: what editors complete and check YAML with, from the very schemas that the fleet reads it by. */
export const schemaFiles = (): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(schemas).map(([name, { title, schema }]) => [
      `${name}.schema.json`,
      fileOf(title, schema),
    ]),
  );

function fileOf(title: string, schema: TSchema): string {
  const document = { $schema: 'https://json-schema.org/draft/2020-12/schema', title, ...schema };
  const written = JSON.parse(JSON.stringify(document)) as Place;
  return `${JSON.stringify(schema === EnvironmentSchema ? addHoverTexts(written) : written, null, 2)}\n`;
}
