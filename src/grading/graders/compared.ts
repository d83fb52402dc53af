import type { AnswerPath, Item, Json, ReferencePath } from '#src/model/grader.ts';
import type { Sample } from './evaluation.ts';
import { Failure } from '#src/failure/failure.ts';

/** The two sides that `set` and `text` compare: what the model answered, and what the dataset row says is true. */

/**
 * The model's answer at a path like `output_text` or `output_json.files`; undefined where there is none. Trainers leave
 * fields out: the text is then the last message's, and the JSON is what that text holds, in a fence or bare.
 */
export function answerAt(sample: Sample, path: AnswerPath): Json | undefined {
  const [root = '', ...fields] = path.split('.');
  return fields.reduce(fieldOf, rootOf(sample, root));
}

function rootOf(sample: Sample, root: string): Json | undefined {
  const given = sample[root];
  if (given !== undefined && given !== null) return given;
  if (root === 'output_text') return messageText(sample);
  if (root === 'output_json') return jsonIn(answerAt(sample, 'output_text'));
  return undefined;
}

function messageText(sample: Sample): Json | undefined {
  return ['0', 'message', 'content'].reduce(fieldOf, sample['choices']);
}

/** One step down, into an object's own field or an array's element. */
function fieldOf(value: Json | undefined, field: string): Json | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return undefined;
  return (value as { readonly [key: string]: Json })[field];
}

const fence = '```';

/** JSON that a text holds as its whole content or in one Markdown fence; undefined where it is no JSON. */
export function jsonIn(text: Json | undefined): Json | undefined {
  if (typeof text !== 'string') return undefined;
  const trimmed = text.trim();
  try {
    return JSON.parse(insideFence(trimmed) ?? trimmed) as Json;
  } catch {
    return undefined;
  }
}

/** What stands between a first line like "```json" and a last "```"; null where the text is no fenced block. */
function insideFence(text: string): string | null {
  const lineEnd = text.indexOf('\n');
  const end = text.length - fence.length;
  if (lineEnd === -1 || end <= lineEnd || !text.startsWith(fence) || !text.endsWith(fence)) return null;
  const language = text.slice(fence.length, lineEnd).trim();
  return /^[\w-]*$/.test(language) ? text.slice(lineEnd + 1, end).trim() : null;
}

/** The truth at a path like `item.files`. Throws `item_missing` where the row has none: nobody could be scored by it. */
function referenceAt(item: Item | null, path: ReferencePath): Json {
  const [, ...fields] = path.split('.');
  const found = fields.reduce(fieldOf, item ?? undefined);
  if (found === undefined || found === null) throw missing(path, 'is missing');
  return found;
}

/** The same for a person: as JSON, or that there is none. */
export function referenceText(item: Item | null, path: ReferencePath): string {
  const [, ...fields] = path.split('.');
  const found = fields.reduce(fieldOf, item ?? undefined);
  return found === undefined ? '(missing)' : typeof found === 'string' ? found : JSON.stringify(found);
}

/** The reference as a list of texts. Throws `item_missing` where it is neither a text, a number nor a list of them. */
export function textsAt(item: Item | null, path: ReferencePath): readonly string[] {
  const found = referenceAt(item, path);
  const values = Array.isArray(found) ? found : [found];
  return values.map((value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    throw missing(path, 'is neither text, a number nor a list of them');
  });
}

function missing(path: ReferencePath, what: string): Failure {
  return new Failure(
    'item_missing',
    `${path} ${what}, and the grader compares with it; fix the dataset row`,
    {
      evidence: { reference: path },
    },
  );
}
