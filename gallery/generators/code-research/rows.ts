import { chanceOf } from '../chance.ts';
import { type Mined, mine } from './miners.ts';
import { evalRepositories, type Repository } from './repositories.ts';

/** Another seed draws other questions. */
const seed = 'code-research 1';

/** Of one kind in one repository: else a few packages and ways to ask would be the dataset. */
const mostOfKind = 160;
/** A message is found by its words: of such questions a few are enough. */
const mostErrors = 10;
/** A fact that answers so many of the questions of its kind can be said without looking. */
const common = { share: 0.06, fewest: 4 };
/** Nor does anybody need to look for these. */
const guessed: ReadonlySet<string> = new Set(['true', 'false', 'null', 'undefined', '0', '1']);

type Row = Mined & { readonly id: string; readonly repository: string };

export function researchRows(repositories: readonly Repository[]) {
  const rows = repositories.flatMap(rowsOf);
  const byHeart = Map.groupBy(rows, ({ repository }) => repository);
  const complete = (row: Row) => {
    const all = byHeart.get(row.repository)?.flatMap(({ facts }) => facts) ?? [];
    return {
      ...row,
      corral: { reference: { facts: row.facts }, cheating: { facts: [...new Set(all)].toReversed() } },
    };
  };
  return {
    train: rows.filter((row) => !isEval(row)).map((row) => withoutHeart(complete(row))),
    // Mixed, so that the first few are of all kinds.
    eval: mixed(rows.filter(isEval).map(complete)),
  };
}

const mixed = <Value>(values: readonly Value[]): readonly Value[] =>
  chanceOf(`${seed} order`).some(values, values.length);

const isEval = ({ repository }: Row): boolean => evalRepositories.includes(repository);

/** What a policy would know by heart is tried on the rows of eval; in 800 rows of train it would be megabytes. */
function withoutHeart({ corral: { reference }, ...row }: Row & { corral: { reference: object } }) {
  return { ...row, corral: { reference } };
}

function rowsOf(repository: Repository): readonly Row[] {
  const telling = withoutCommonFacts(mine(repository));
  const kinds = Map.groupBy(telling, ({ kind }) => kind);
  return [...kinds].flatMap(([kind, all]) => {
    const drawn = chanceOf(`${seed} ${repository.name} ${kind}`).some(
      all,
      kind === 'error' ? mostErrors : mostOfKind,
    );
    return drawn.map(({ question, facts }, index) => {
      const id = `${repository.name}-${kind}-${index + 1}`;
      return { id, repository: repository.name, kind, question, facts };
    });
  });
}

/** Drops the facts that could be guessed, and those that the question itself says; a question that lost half of them goes too. */
function withoutCommonFacts(all: readonly Mined[]): readonly Mined[] {
  const sizes = new Map(
    [...Map.groupBy(all, ({ kind }) => kind)].map(([kind, { length }]) => [kind, length]),
  );
  const uses = new Map<string, number>();
  for (const { kind, facts } of all)
    for (const fact of facts) uses.set(`${kind} ${fact}`, (uses.get(`${kind} ${fact}`) ?? 0) + 1);
  const tells =
    ({ kind, question }: Mined) =>
    (fact: string) => {
      const used = uses.get(`${kind} ${fact}`) ?? 0;
      return (
        !question.includes(fact) &&
        !guessed.has(fact) &&
        used <= Math.max(common.fewest, (sizes.get(kind) ?? 0) * common.share)
      );
    };
  return all.flatMap((mined) => {
    const facts = mined.facts.filter(tells(mined));
    return facts.length * 2 > mined.facts.length ? [{ ...mined, facts }] : [];
  });
}
