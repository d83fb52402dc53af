import { catalogue, metricNames, type NameOf } from '#src/adapters/prometheus/catalogue/catalogue.ts';
import type { FleetSize, Labels, Process, Spec } from '#src/adapters/prometheus/catalogue/spec.ts';
import { createInstruments, type Instruments } from '#src/adapters/prometheus/instruments.ts';

type Said = Readonly<Record<string, string>>;

const made = (what: string, count: number) => Array.from({ length: count }, (_, index) => `${what}-${index}`);

/** Instruments of a process in which everything has happened that can, in every environment and of every template. */
export function fullInstruments(process: Process, size: FleetSize): Instruments {
  const instruments = createInstruments(process, () => made('environment', size.environments));
  for (const name of metricNames) {
    const spec: Spec = catalogue[name];
    if (!spec.by.includes(process)) continue;
    for (const said of combinationsOf(spec.labels, size)) say(instruments, name, spec.kind, said);
  }
  return instruments;
}

/** Every combination of what labels may say, and of what they may not, which is `unknown`. */
function combinationsOf(all: readonly Labels[], size: FleetSize): readonly Said[] {
  return all.reduce<readonly Said[]>(
    (before, labels) => {
      const rows = rowsOf(labels, size);
      return before.flatMap((said) => rows.map((row) => Object.assign({}, said, named(labels, row))));
    },
    [{}],
  );
}

const named = ({ names }: Labels, row: readonly string[]): Said =>
  Object.fromEntries(names.map((name, place) => [name, row[place] ?? '']));

function rowsOf(labels: Labels, { environments, templates }: FleetSize): readonly (readonly string[])[] {
  const digests = made('t', templates);
  const forged = labels.names.map(() => 'forged');
  switch (labels.kind) {
    case 'listed':
      return [...labels.rows, forged];
    case 'seen':
      return made('seen', labels.most + 1).map((value) => [value]);
    case 'environment':
      return [...made('environment', environments).map((name) => [name]), forged];
    case 'template':
      return digests.map((digest) => [digest]);
    case 'pair':
      return digests.map((digest, index) => [digest, `environment-${index % environments}`]);
  }
}

function say(instruments: Instruments, name: string, kind: Spec['kind'], said: Said): void {
  if (kind === 'counter') instruments.count(name as NameOf<'counter'>, said, 12_345.678);
  if (kind === 'gauge') instruments.set(name as NameOf<'gauge'>, said, 12_345);
  if (kind === 'histogram') instruments.observe(name as NameOf<'histogram'>, said, 1_234.5);
}

/** Lines of values in a page that is scraped. */
export const seriesOf = (text: string): number =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
