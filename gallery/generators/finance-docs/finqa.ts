import type { Page } from './page.ts';
import type { Row } from './library.ts';

/** What is taken of one entry of `FinQA/dataset/*.json`; its other fields are left. */
type Entry = Page & {
  readonly id: string;
  readonly qa: {
    readonly question: string;
    readonly answer: string;
    readonly exe_ans: unknown;
    readonly program: string;
  };
};

export type Imported = {
  readonly pages: readonly Page[];
  readonly train: readonly Row[];
  readonly eval: readonly Row[];
  /** Questions that were left out, by reason. */
  readonly left: Readonly<Record<'no number' | 'page of train', number>>;
};

/**
 * The real FinQA: `train.json` is learnt from, `dev.json` and `test.json` tell what was. Questions that are answered yes or no
 * are left out, because numbers are what is graded; so are questions of the second kind about a page of the first.
 */
export function importFinqa(files: { readonly train: string; readonly rest: readonly string[] }): Imported {
  const train = entriesOf(files.train);
  const rest = files.rest.flatMap(entriesOf);
  const pages = new Map([...train, ...rest].map((entry) => [entry.filename, pageOf(entry)]));
  const trained = train.flatMap(rowOf);
  const seen = new Set(train.map(({ filename }) => filename));
  const unseen = rest.filter(({ filename }) => !seen.has(filename));
  const tested = unseen.flatMap(rowOf);
  return {
    pages: [...pages.values()],
    train: trained,
    eval: tested,
    left: {
      'no number': train.length - trained.length + unseen.length - tested.length,
      'page of train': rest.length - unseen.length,
    },
  };
}

function entriesOf(json: string): readonly Entry[] {
  const entries: unknown = JSON.parse(json);
  if (Array.isArray(entries) && entries.every(isEntry)) return entries;
  throw new Error('not a file of FinQA/dataset: a list of {id, filename, pre_text, post_text, table, qa}');
}

function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  const { id, filename, pre_text, post_text, table, qa } = value as Partial<Record<keyof Entry, unknown>>;
  const lists = [pre_text, post_text, table].every((list) => Array.isArray(list));
  return (
    typeof id === 'string' && typeof filename === 'string' && lists && typeof qa === 'object' && qa !== null
  );
}

const pageOf = ({ filename, pre_text, post_text, table }: Entry): Page => ({
  filename,
  pre_text,
  post_text,
  table,
});

/** Its answer as it is written; where that is empty, what its program gives. */
function rowOf({ id, filename, qa }: Entry): readonly Row[] {
  const written = qa.answer.trim() === '' ? qa.exe_ans : qa.answer;
  const answer = typeof written === 'number' ? String(written) : written;
  if (typeof answer !== 'string' || !/\d/.test(answer)) return [];
  const company = filename.split('/')[0] ?? '';
  return [{ id, question: qa.question, answer, program: qa.program, document: filename, company }];
}
