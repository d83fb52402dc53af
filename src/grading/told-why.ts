import type { Grader, Item, Json } from '../model/grader.ts';
import { graderLeaves, referenceOf } from '../model/grader-leaves.ts';
import type { PartReason, ToldWhy } from '../ports/event-log.ts';
import { withoutSecrets } from '../ports/judge.ts';
import { answerAt, referenceText } from './graders/compared.ts';
import { byTheJudge } from './graders/evaluate.ts';
import type { Sample, Scored } from './graders/evaluation.ts';

/** What one screen shows; the policy decides how long its answer is, and its grader's stderr too. */
const mostItemCharacters = 16_384;
const mostTextCharacters = 2_000;
const mostReasonCharacters = 300;
const mostParts = 32;

type Asked = {
  readonly grader: Grader;
  readonly item: Item | null;
  readonly sample: Sample;
  readonly stderr: string;
  /** What each judge that was asked said beside its score, in the order in which they were; for people alone. */
  readonly judges?: readonly string[];
};

/** `secrets`: by name, what must be in no log, whoever said it. */
export function toldWhy(
  { grader, item, sample, stderr, judges = [] }: Asked,
  { detail }: Pick<Scored, 'detail'>,
  secrets: ReadonlyMap<string, string>,
): ToldWhy {
  const clean = (text: string, most: number) => redacted(text, secrets).slice(0, most).toWellFormed();
  const texts = (paths: readonly string[], at: (path: string) => string) =>
    Object.fromEntries([...new Set(paths)].map((path) => [path, clean(at(path), mostTextCharacters)]));
  const leaves = graderLeaves(grader);
  const answers = leaves.flatMap((leaf) => ('answer' in leaf ? leaf.answer : []));
  const spoken = judges.values();
  const { id = null } = item ?? {};
  return {
    itemId: typeof id === 'string' || typeof id === 'number' ? clean(String(id), mostReasonCharacters) : null,
    item: clean(JSON.stringify(item), mostItemCharacters),
    answer: texts(readBy(grader, answers), (path) => shown(answerAt(sample, path))),
    reference: texts(
      leaves.flatMap((leaf) => referenceOf(leaf) ?? []),
      (path) => referenceText(item, path),
    ),
    parts: reasonsIn(detail)
      .slice(0, mostParts)
      .map(({ part, score, reason }) => {
        const said = reason === byTheJudge ? spoken.next().value : undefined;
        const whole = said === undefined || said === '' ? reason : `${reason}: ${said}`;
        return { part, score, reason: clean(whole, mostReasonCharacters) };
      }),
    stderr: redacted(stderr, secrets).slice(-mostTextCharacters).toWellFormed(),
  };
}

/** Who composes nothing of the answer gets all of it; the trainer's own grader is not known here. */
function readBy(grader: Grader, answers: readonly string[]): readonly string[] {
  if (answers.length > 0) return answers;
  return grader.kind === 'none' ? [] : ['output_text'];
}

/** However deep a policy has nested what it answers: what shows it must not fail where what grades it did not. */
function shown(value: Json | undefined): string {
  try {
    return shownWhole(value);
  } catch (thrown) {
    if (thrown instanceof RangeError) return '(nested too deeply to be shown)';
    throw thrown;
  }
}

const shownWhole = (value: Json | undefined): string =>
  value === undefined
    ? '(nothing that could be read)'
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);

/** Our own keys, too: a grader that was given one to try may print it. */
const ownKey = /corral_[\w-]{1,64}_[\w-]{16,}/g;

export const redacted = (text: string, secrets: ReadonlyMap<string, string>): string =>
  withoutSecrets(text, secrets).replaceAll(ownKey, '[API key]');

type Detail = Scored['detail'];

/** Every part of a composed grader in a line of its own, the outermost first. */
export function reasonsIn(detail: Detail, above = ''): readonly PartReason[] {
  const { kind, score, reason } = detail;
  const part = `${above}${typeof kind === 'string' ? kind : 'grader'}`;
  const own = {
    part,
    score: typeof score === 'number' ? score : null,
    reason: typeof reason === 'string' ? reason : '',
  };
  return [own, ...partsOf(detail).flatMap(([name, inner]) => reasonsIn(inner, `${part} > ${name}`))];
}

/** As the composing graders of `evaluate.ts` put their parts into a detail. */
function partsOf({ before, check, passed, parts }: Detail): readonly (readonly [string, Detail])[] {
  const inner = [before, check, passed].flatMap((one) => (isDetail(one) ? [['', one] as const] : []));
  const listed = Array.isArray(parts) ? (parts as readonly Json[]) : [];
  return [
    ...inner,
    ...listed.flatMap((one, index) => (isDetail(one) ? [[`${index + 1} `, one] as const] : [])),
  ];
}

const isDetail = (value: Json | undefined): value is Detail =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
