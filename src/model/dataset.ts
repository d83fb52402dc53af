import type { Item, Json } from './grader.ts';

/** Which rows are meant: those that are learnt from, or those that tell whether anything was learnt. */
export const splits = ['train', 'eval'] as const;
export type Split = (typeof splits)[number];

/** A file of rows, JSONL. A version has its digest, so that rewards of other rows are never taken for the same. */
export type RowFile = {
  /** As written in the YAML: relative to its folder. */
  readonly file: string;
  readonly sha256: string;
};

/** What the model reads of a row: templates with `{item.field}`. */
export type Prompt = { readonly system?: string; readonly user: string };

/** The rows of an environment and the words in which a model is asked about one. */
export type Dataset = {
  readonly train?: RowFile;
  readonly eval?: RowFile;
  readonly prompt?: Prompt;
  /** Fields of which no value may be in both splits. */
  readonly disjoint: readonly string[];
};

export type PromptMessage = { readonly role: 'system' | 'user'; readonly content: string };

/**
 * `{item.repo}` is a field of the row, `{{item.repo}}` the plain text `{item.repo}`; every other brace is itself, because
 * prompts show JSON and programs.
 */
const placeholder = /\{\{(item\.[\w.-]{1,200})\}\}|\{(item\.[\w.-]{1,200})\}/g;

/** The paths below `item` that a prompt names, without repeats. */
export function promptFields({ system = '', user }: Prompt): readonly string[] {
  const named = [...`${system}\n${user}`.matchAll(placeholder)].flatMap(([, , path]) => path ?? []);
  return [...new Set(named.map((path) => path.slice('item.'.length)))];
}

/** The messages for a row, or the fields that it lacks. A value is put in as it is and never looked at again. */
export function promptOf(
  prompt: Prompt,
  item: Item,
): { readonly messages: readonly PromptMessage[] } | { readonly missing: readonly string[] } {
  const missing = promptFields(prompt).filter((path) => at(item, path) === undefined);
  if (missing.length > 0) return { missing };
  const fill = (text: string) =>
    text.replaceAll(placeholder, (_whole, literal: string | undefined, path: string | undefined) =>
      path === undefined ? `{${literal ?? ''}}` : written(at(item, path.slice('item.'.length))),
    );
  const system =
    prompt.system === undefined ? [] : [{ role: 'system', content: fill(prompt.system) } as const];
  return { messages: [...system, { role: 'user', content: fill(prompt.user) }] };
}

const written = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/** What a path such as `answer.files` finds; undefined where there is nothing. */
export function at(item: Item, path: string): Json | undefined {
  return path.split('.').reduce<Json | undefined>((value, step) => {
    if (typeof value !== 'object' || value === null) return undefined;
    return Object.entries(value).find(([key]) => key === step)?.[1];
  }, item);
}
