import { expert } from './expert.ts';
import { guesser } from './guesser.ts';
import { keywordSearcher } from './keyword-searcher.ts';
import { overCaller } from './over-caller.ts';
import { parallelReader } from './parallel-reader.ts';
import type { Policy } from './policy.ts';
import { sloppy } from './sloppy.ts';

/** Eight copies of a task hold each script at least once, so that every group has a spread to learn from. */
const roster = [expert, parallelReader, keywordSearcher, expert, overCaller, guesser, sloppy, parallelReader];

/** The scripts by name, for the report's legend. */
export const policies: readonly Policy[] = [...new Set(roster)];

/** Which script plays copy number `copy` (from 0) of a task. */
export function policyOf(copy: number): Policy {
  return roster[copy % roster.length] ?? expert;
}
