import { environmentFields, type Field, limitFields, toolFields } from '../fields-page/fields.ts';

/** A place of a JSON Schema. */
export type Place = {
  readonly properties?: Readonly<Record<string, Place>>;
  readonly patternProperties?: Readonly<Record<string, Place>>;
  markdownDescription?: string;
};

/** The places whose fields a page describes, and what it says of each field. */
export function describedPlaces(environment: Place): readonly (readonly [Place, Fields])[] {
  const { sandbox, grader_sandbox, pool, limits, tools } = environment.properties ?? {};
  const tool = Object.values(tools?.patternProperties ?? {})[0];
  return [
    [environment, partOf('')],
    [sandbox ?? {}, partOf('sandbox.')],
    [grader_sandbox ?? {}, partOf('sandbox.')],
    [pool ?? {}, partOf('pool.')],
    [limits ?? {}, limitFields],
    [tool ?? {}, toolFields],
  ];
}

type Fields = Readonly<Record<string, Field>>;

function partOf(prefix: string): Fields {
  const entries = Object.entries(environmentFields).filter(
    ([path]) => path.startsWith(prefix) && !path.slice(prefix.length).includes('.'),
  );
  return Object.fromEntries(entries.map(([path, field]) => [path.slice(prefix.length), field]));
}

/** Adds to each described field what an editor shows of it. `description` stays: mistakes are reported with it. */
export function addHoverTexts(environment: Place): Place {
  for (const [place, fields] of describedPlaces(environment)) {
    for (const [name, field] of Object.entries(fields)) {
      const target = place.properties?.[name];
      if (target !== undefined) target.markdownDescription = hoverText(field);
    }
  }
  return environment;
}

/** Links lead nowhere from a reader's YAML, so only their words stay. */
function hoverText({ default: value, meaning, more }: Field): string {
  const parts = [meaning, more, value === null ? undefined : `Default: ${value}`];
  return parts
    .filter((part) => part !== undefined)
    .join('\n\n')
    .replaceAll(/\[([^\][]{1,200})\]\([^()]{1,200}\)/g, '$1');
}
