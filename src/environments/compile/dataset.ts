import { hash } from 'node:crypto';
import { type Dataset, type Prompt, promptFields, type RowFile, splits } from '#src/model/dataset.ts';
import { reservedField } from '#src/model/grader-leaves.ts';
import type { Folder } from '../files-read.ts';
import type { Path, Report } from '../mistakes.ts';
import type { DatasetYaml, PromptTextYaml, RowFileYaml } from '../schema/environment.ts';

type InHand = { readonly folder: Folder; readonly report: Report };

/** `graded`: the row's fields that the grader compares with, which no prompt may say. */
export function compileDataset(yaml: DatasetYaml, graded: readonly string[], inHand: InHand): Dataset {
  const { report } = inHand;
  const files = splits.flatMap((split) => {
    const written = yaml[split];
    return written === undefined ? [] : [[split, rowFile(written, ['dataset', split], inHand)] as const];
  });
  if (files.length === 0) report(['dataset'], 'names no rows: give train, eval or both');
  const disjoint = yaml.disjoint ?? [];
  if (disjoint.length > 0 && files.length === 1)
    report(['dataset', 'disjoint'], 'compares train with eval, and there is only one of them');
  const prompt = yaml.prompt === undefined ? undefined : compilePrompt(yaml.prompt, inHand);
  if (prompt !== undefined) checkPrompt(prompt, graded, report);
  return { ...Object.fromEntries(files), ...(prompt && { prompt }), disjoint };
}

/** Every process of a fleet looks at its files every two seconds, and a trainer reads them whole. */
const largestRowsBytes = 64 * 1024 * 1024;

/**
 * A file that is named with its digest need not be where the fleet runs: rows may be large, generated, or nobody's business
 * there. Where it is at hand it has to agree, or what is trained on is not what the version says.
 */
function rowFile(written: RowFileYaml, place: Path, { folder, report }: InHand): RowFile {
  const { file, sha256: promised } =
    typeof written === 'string' ? { file: written, sha256: undefined } : written;
  const text = folder.text(file);
  if (text === null) {
    if (promised === undefined) {
      const next = 'where the fleet’s machines do not have it, write {file, sha256}';
      report(place, `names the file ${file}, which cannot be read; ${next}`);
    }
    return { file, sha256: promised ?? '' };
  }
  if (Buffer.byteLength(text) > largestRowsBytes)
    report(place, 'is a file of more than 64 MiB: take fewer rows');
  const found = hash('sha256', text);
  if (promised !== undefined && promised !== found)
    report(place, `promises another ${file}: its sha256 is ${found}`);
  return { file, sha256: found };
}

function compilePrompt(yaml: NonNullable<DatasetYaml['prompt']>, inHand: InHand): Prompt {
  const place = ['dataset', 'prompt'];
  if (typeof yaml === 'string' || 'file' in yaml) return { user: textOf(yaml, place, inHand) };
  const user = textOf(yaml.user, [...place, 'user'], inHand);
  return yaml.system === undefined
    ? { user }
    : { system: textOf(yaml.system, [...place, 'system'], inHand), user };
}

function textOf(yaml: PromptTextYaml, place: Path, { folder, report }: InHand): string {
  if (typeof yaml === 'string') return yaml;
  const text = folder.text(yaml.file);
  if (text === null) report(place, `names the file ${yaml.file}, which cannot be read`);
  return text ?? '';
}

/** What the model is told is no test of it. */
function checkPrompt(prompt: Prompt, graded: readonly string[], report: Report): void {
  const fields = promptFields(prompt).map((path) => path.split('.')[0] ?? '');
  for (const field of new Set(fields)) {
    if (graded.includes(field))
      report(
        ['dataset', 'prompt'],
        `tells {item.${field}}, which the grader compares with: the model would read the answer`,
      );
    if (field === reservedField)
      report(
        ['dataset', 'prompt'],
        `tells {item.${field}}, the field of what is tried on a row, which no trainer is given`,
      );
  }
}
