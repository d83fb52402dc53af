import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { run } from '#infra/cluster/machine/run.ts';

const repository = join(import.meta.dirname, '../..');
export const chartFolder = join(repository, 'charts/corral');

/** Values that are rendered with every change: `ci/NAME-values.yaml`. */
export const valueSets = ['minimal', 'production', 'gitops'] as const;
export type ValueSet = (typeof valueSets)[number];

export const valuesFile = (set: ValueSet): string => join(chartFolder, 'ci', `${set}-values.yaml`);

/** Helm of the cluster's programs, which `npm run test:chart` puts on the path beside kubectl; returns its stdout. */
export const helm = (args: readonly string[]): Promise<string> => run(['helm', ...args]);

/** What is looked at of any object of Kubernetes. */
export type Rendered = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
};

/** The namespace that rendered fleets are for, and the release's name. */
export const home = 'rendered-home';
const release = 'rendered';

/** The fleets' names; without one in the values it is the release's. */
export const fleetOf = { minimal: release, production: 'lab', gitops: 'research' } as const;

/** The chart's text, with more arguments of Helm. */
export const renderText = (set: ValueSet, ...more: readonly string[]): Promise<string> =>
  helm(['template', release, chartFolder, '--namespace', home, '--values', valuesFile(set), ...more]);

/** Its objects, hooks among them. Throws for what is no YAML, or says a key twice. */
export async function render(set: ValueSet, ...more: readonly string[]): Promise<readonly Rendered[]> {
  const documents = parseAllDocuments(await renderText(set, ...more));
  if ('empty' in documents) return [];
  return documents.map((document) => {
    for (const error of document.errors) throw error;
    return document.toJS() as Rendered;
  });
}

/** The one object of a kind and a name. */
export function oneOf(objects: readonly Rendered[], kind: string, name: string): Rendered {
  const [found, ...more] = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined || more.length > 0) throw new Error(`not one object ${kind} ${name}`);
  return found;
}
