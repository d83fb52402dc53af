/** What grows with the fleet, and its metrics with it. */
export type FleetSize = { readonly environments: number; readonly templates: number };

/**
 * What labels may say. Labels of which one decides another stand together, because a code has one blame.
 *
 *   listed       one of these rows; anything else is `unknown`
 *   environment  an environment that this process goes by, or did; anything else is `unknown`
 *   template     12 hex digits; told again each time, so that a template that is gone leaves
 *   pair         a template with each environment that uses it; told again likewise
 *   seen         whatever comes, up to `most`; what comes after that is `unknown`
 */
export type Labels<Name extends string = string> = {
  readonly names: readonly Name[];
  /** What they say, for people. */
  readonly says: string;
} & (
  | { readonly kind: 'listed'; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: 'environment' | 'template' | 'pair' }
  | { readonly kind: 'seen'; readonly most: number }
);

/** The upper ends of a histogram's buckets in seconds, and why these. */
export type Buckets = { readonly seconds: readonly number[]; readonly because: string };

type Told = {
  readonly help: string;
  /** Which processes tell it: `of: 'fleet'` all of them alike, so `max`; `of: 'process'` each its own, so `sum`. */
  readonly by: readonly Process[];
  readonly of: 'process' | 'fleet';
  readonly labels: readonly Labels[];
};

export type Process = 'gateway' | 'controller';

export type Spec =
  | (Told & { readonly kind: 'gauge' })
  | (Told & { readonly kind: 'histogram'; readonly buckets: Buckets })
  | (Told & {
      readonly kind: 'counter';
      /**
       * Rows that exist from the start, at 0, for every environment if it is a label. A counter that appears with its
       * first failure hides that failure from `increase` and `rate`.
       */
      readonly fromStart: readonly Readonly<Record<string, string>>[];
    });

export type Specs = Readonly<Record<`corral_${string}`, Spec>>;

/** Labels of which one decides the others, as rows of what they may say. */
export const listed = <const Name extends string>(
  names: readonly Name[],
  rows: readonly (readonly string[])[],
  says: string,
) => ({ kind: 'listed', names, rows, says }) as const;

/** One label with a fixed list of values. */
export const oneOf = <const Name extends string>(name: Name, values: readonly string[], says = '') =>
  listed(
    [name],
    values.map((value) => [value]),
    says,
  );

/** One label whose values cannot be listed beforehand. */
export const seen = <const Name extends string>(name: Name, most: number, says: string) =>
  ({ kind: 'seen', names: [name], most, says }) as const;

export const ofEnvironment = {
  kind: 'environment',
  names: ['environment'],
  says: '',
} as const;

export const ofTemplate = {
  kind: 'template',
  names: ['template'],
  says: '',
} as const;

/** Most series that labels can make in a fleet of this size, `unknown` included. */
function combinations(labels: Labels, { environments, templates }: FleetSize): number {
  switch (labels.kind) {
    case 'listed':
      return labels.rows.length + 1;
    case 'seen':
      return labels.most + 1;
    case 'environment':
      return environments + 1;
    case 'template':
      return templates;
    case 'pair':
      return templates + environments;
  }
}

/** Lines of a histogram in addition to its buckets: the infinite bucket, the sum, the count. */
const besideBuckets = 3;

/** Most series of a metric in one process of a fleet of this size. */
export function mostSeries(spec: Spec, size: FleetSize): number {
  const each = spec.kind === 'histogram' ? spec.buckets.seconds.length + besideBuckets : 1;
  return spec.labels.reduce((product, labels) => product * combinations(labels, size), each);
}
