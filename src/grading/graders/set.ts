import { posix } from 'node:path';
import type { Json, MostAnswers } from '#src/model/grader.ts';
import type { Compared, Leaf, Scored } from './evaluation.ts';
import { answerAt, jsonIn, textsAt } from './compared.ts';

/**
 * `f1` and `recall` of a set of texts, mostly paths. The answer may be a list, JSON text of one, or one entry a line;
 * order, repeats and `./` make no difference. An answer that is none of it is the empty set: score 0. With `most` only the
 * first answers count, else `recall` is paid to whoever answers everything; with `refuseAbove` a longer answer is none: `f1` pays
 * a little for every right entry among many.
 */
export function gradeBySet(grader: Leaf<'f1' | 'recall'>, { sample, item }: Compared): Scored {
  const truth = setOf(textsAt(item, grader.reference), grader);
  const given = setOf(entriesOf(answerAt(sample, grader.answer)), grader);
  const refused = grader.refuseAbove !== undefined && given.size > countOf(grader.refuseAbove, truth.size);
  const counted = grader.most === undefined ? given : firstOf(given, grader.most, truth.size);
  const answer = refused ? new Set<string>() : counted;
  const hits = answer.intersection(truth).size;
  const score = refused
    ? 0
    : grader.kind === 'f1'
      ? f1(hits, answer.size, truth.size)
      : recall(hits, truth.size);
  const reason = refused
    ? `${given.size} were answered, more than are looked at; ${truth.size} were expected`
    : reasonOf(hits, truth.size, answer.size, given.size);
  const detail = { kind: grader.kind, score, hits, answered: given.size, expected: truth.size, reason };
  return { kind: 'scored', score, detail, suspected: null };
}

function reasonOf(hits: number, expected: number, counted: number, given: number): string {
  if (given === 0) return `nothing was answered that could be read, and ${expected} were expected`;
  const first = counted < given ? `, the first ${counted} of them` : '';
  return `${hits} of ${expected} expected are among ${given} answered${first}`;
}

/** Nothing expected and nothing answered is a perfect answer. */
const f1 = (hits: number, answered: number, expected: number): number =>
  answered + expected === 0 ? 1 : (2 * hits) / (answered + expected);

const recall = (hits: number, expected: number): number => (expected === 0 ? 1 : hits / expected);

const firstOf = (given: ReadonlySet<string>, most: MostAnswers, expected: number): Set<string> =>
  new Set([...given].slice(0, countOf(most, expected)));

const countOf = (most: MostAnswers, expected: number): number =>
  'count' in most ? most.count : Math.ceil(most.timesExpected * expected);

function entriesOf(answer: Json | undefined): readonly string[] {
  if (typeof answer === 'number') return [String(answer)];
  if (Array.isArray(answer)) return (answer as readonly Json[]).filter(isEntry).map(String);
  if (typeof answer !== 'string') return [];
  const json = jsonIn(answer);
  return Array.isArray(json) ? entriesOf(json) : answer.split('\n').map(withoutListMark);
}

const isEntry = (value: Json): boolean => typeof value === 'string' || typeof value === 'number';

/** `- path`, `* path` and backquotes around it are how models write a list. */
function withoutListMark(line: string): string {
  return line
    .trim()
    .replace(/^[-*]\s+/, '')
    .replace(/^`(.*)`$/, '$1');
}

function setOf(entries: readonly string[], { compare }: Pick<Leaf<'f1' | 'recall'>, 'compare'>): Set<string> {
  const plain = compare === 'code' ? plainCode : plainEntry;
  const named = new Set<string>();
  for (const entry of entries) {
    const bare = plain(entry.trim());
    if (bare !== '') named.add(bare);
  }
  return named;
}

const plainEntry = (entry: string): string => (isPath(entry) ? plainPath(entry) : entry);

/** `E11.9`, `e119` and `E 11.9` are one code. */
const plainCode = (entry: string): string => entry.toUpperCase().replaceAll(/[.\s]/g, '');

/** Linux knows no longer path; what is longer is none, and bringing it into shape could cost its length many times. */
const longestPath = 4_096;

const isPath = (entry: string): boolean => entry.length <= longestPath && entry.includes('/');

const plainPath = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, '');
