import { type Static, Type } from 'typebox';
import { strict } from './parts.ts';

const PathText = Type.String({ minLength: 1 });

const RowFile = Type.Union(
  [
    PathText,
    strict({
      file: PathText,
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: '64 hexadecimal digits' }),
    }),
  ],
  { description: 'a JSONL file of rows, relative to this YAML, or {file, sha256}' },
);

/** As long as no prompt needs to be: every version keeps it. */
const longestPromptCharacters = 65_536;

const Text = Type.Union(
  [Type.String({ minLength: 1, maxLength: longestPromptCharacters }), strict({ file: PathText })],
  { description: `a text of at most ${longestPromptCharacters} characters, or {file: PATH}` },
);

export const DatasetSchema = strict({
  train: Type.Optional(RowFile),
  eval: Type.Optional(RowFile),
  prompt: Type.Optional(
    Type.Union([Text, strict({ system: Type.Optional(Text), user: Text })], {
      description: 'a text, {file: PATH}, or {system, user} of those',
    }),
  ),
  disjoint: Type.Optional(
    Type.Array(
      Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_-]*$', description: 'the name of an item field' }),
    ),
  ),
});

export type DatasetYaml = Static<typeof DatasetSchema>;
export type RowFileYaml = Static<typeof RowFile>;
export type PromptTextYaml = Static<typeof Text>;
