import type { Canary, Grader, JudgeGuard } from '#src/model/grader.ts';
import { parseBytes, parseDurationMs } from '../quantities.ts';
import type { GraderInHand, GraderOf } from './grader-sandbox.ts';

/** A minute to answer, twice more if it does not. Every judge of answers in words has a score for one that says nothing. */
const defaults = { timeout: '60s', retries: 2, control: 'I do not know.' } as const;

/** A judge is sent base64 in one request. */
const usualAttachBytes = 4 * 1024 * 1024;
const mostAttachBytes = 16 * 1024 * 1024;

function attachOf({ attach, attach_bytes, on_attach }: GraderOf<'http'>, { place, report }: GraderInHand) {
  if (attach === undefined) {
    if (attach_bytes !== undefined || on_attach !== undefined)
      report([...place, 'attach'], 'is missing: attach_bytes and on_attach are of files that are attached');
    return {};
  }
  if (on_attach === undefined)
    report(
      [...place, 'on_attach'],
      'is missing: what is it worth that the policy made its files too large or unreadable?',
    );
  const mostBytes = attach_bytes === undefined ? usualAttachBytes : parseBytes(attach_bytes);
  if (mostBytes > mostAttachBytes) report([...place, 'attach_bytes'], 'must be at most 16Mi');
  return { attach: { paths: attach, mostBytes, onBad: on_attach ?? 0 } };
}

export function httpGrader(yaml: GraderOf<'http'>, inHand: GraderInHand): Grader {
  return {
    kind: 'http',
    url: yaml.url,
    headers: yaml.headers ?? {},
    timeoutMs: parseDurationMs(yaml.timeout ?? defaults.timeout),
    retries: yaml.retries ?? defaults.retries,
    onRefused: yaml.on_refused,
    control: yaml.control ?? defaults.control,
    ...(yaml.calls === true && { calls: true }),
    ...attachOf(yaml, inHand),
    ...guardOf(yaml, inHand),
  };
}

/** A step of training is some hundred grades: a judge that goes bad is noticed within it. */
const usualEveryGrades = 32;

const low = (name: string, answer: string, atMost: number): Canary => ({
  name,
  answer,
  atLeast: null,
  atMost,
});

function guardOf({ guard }: GraderOf<'http'>, { place, report }: GraderInHand) {
  if (guard === undefined) return {};
  const { every, item, canaries } = guard;
  const { empty, injected, reference, corrupted } = canaries;
  if (reference.at_least <= Math.max(empty.at_most, injected.at_most, corrupted.at_most))
    report(
      [...place, 'guard', 'canaries', 'reference', 'at_least'],
      'must be above at_most of the others: a judge that scores all answers alike would pass',
    );
  const guarded: JudgeGuard = {
    everyGrades: every ?? usualEveryGrades,
    item,
    canaries: [
      low('empty', '', empty.at_most),
      low('injected', injected.answer, injected.at_most),
      { name: 'reference', answer: reference.answer, atLeast: reference.at_least, atMost: null },
      low('corrupted', corrupted.answer, corrupted.at_most),
    ],
  };
  return { guard: guarded };
}
