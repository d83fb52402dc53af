import type { Json } from '#src/model/grader.ts';
import { CommandError } from '../command-error.ts';
import type { Row } from './rows.ts';

/** What placeholders may stand for: the row, Corral's own fields, and what the calls so far have printed. */
export type Known = {
  readonly row: Row;
  readonly outputs: readonly string[];
  /** Which rollout of this policy on this row it is, from 1. */
  readonly copy: number;
};

/** `{item.repo}`, `{sh item.request}`, `{corral.reference}`, `{output}`, `{output.1}`, `{copy}`; `${output}` is a shell's own. */
const placeholder = /(?<!\$)\{(sh )?(item(?=\.)|corral(?=\.)|output|copy(?=\}))(\.[A-Za-z0-9_.-]{1,200}|)\}/g;

/**
 * Puts values into every text of a template. A text that is nothing but one placeholder becomes the value itself, a list
 * or number as it is; inside a longer text it is written out, with `sh` as one word of a shell command.
 */
export function fill(template: Json, known: Known): Json {
  if (typeof template === 'string') return fillText(template, known);
  if (typeof template !== 'object' || template === null) return template;
  if (isList(template)) return template.map((each) => fill(each, known));
  return Object.fromEntries(Object.entries(template).map(([key, each]) => [key, fill(each, known)]));
}

/** Every path that a template names, `item.repo`: to refuse what a policy must not know before it is played. */
export function namedIn(template: Json): readonly string[] {
  if (typeof template === 'string')
    return [...template.matchAll(placeholder)].map(([, , source, path]) => `${source}${path}`);
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template).flatMap((each: Json) => namedIn(each));
}

function fillText(text: string, known: Known): Json {
  const whole = [...text.matchAll(placeholder)];
  const [only] = whole;
  if (only?.[0] === text && only[1] === undefined) return valueOf(only[2] ?? '', only[3] ?? '', known);
  return text.replaceAll(placeholder, (_all, quoted: string | undefined, source: string, path: string) => {
    const value = valueOf(source, path, known);
    const written = typeof value === 'string' ? value : JSON.stringify(value);
    return quoted === undefined ? written : shellWord(written);
  });
}

function valueOf(source: string, path: string, { row, outputs, copy }: Known): Json {
  if (source === 'copy') return copy;
  const steps = path.split('.').slice(1);
  const ours = { reference: row.reference, cheating: row.cheating };
  const found =
    source === 'output'
      ? outputs[steps[0] === undefined ? outputs.length - 1 : Number(steps[0]) - 1]
      : steps.reduce<Json | undefined>(stepInto, source === 'item' ? row.item : withoutHoles(ours));
  if (found !== undefined) return found;
  throw new CommandError(
    `a policy names {${source}${path}}, which row ${JSON.stringify(row.item['id'] ?? row.item).slice(0, 80)} does not have`,
    'yours',
    'give every row that field, or take the placeholder off the policy',
  );
}

function stepInto(value: Json | undefined, step: string): Json | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === step)?.[1];
}

const withoutHoles = (fields: Readonly<Record<string, Json | undefined>>): Json =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

const shellWord = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
