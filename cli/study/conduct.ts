import { graderFields } from '#src/model/grader-fields.ts';
import { runId } from '#src/model/ids.ts';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import { whatIsPlayed } from '../ladder/ladder.ts';
import type { Terminal } from '../print/terminal.ts';
import { environmentIn, readRows, realRowsOf } from '../proving/rows-of.ts';
import type { Row } from '../proving/rows.ts';
import { onSomeFleet, type SomeFleetOptions } from '../proving/some-fleet.ts';
import type { LogOptions } from '../stories/read-log.ts';
import { usualAssumptions } from './burst.ts';
import { studyDataset } from './dataset.ts';
import { chosenPolicies, playPolicies } from './play-policies.ts';
import { readRun } from './read-run.ts';
import type { Subject } from './rollout.ts';
import { type Study, studyOf } from './study.ts';
import { loadTokenCounter } from './tokens.ts';

export type StudyOptions = LogOptions &
  SomeFleetOptions & {
    readonly items?: string;
    readonly eval?: string;
    readonly rows?: string;
    readonly group?: readonly string[];
    readonly policy?: readonly string[];
    readonly copies: string;
    readonly atOnce: string;
    readonly against?: string;
    readonly stepRollouts: string;
    readonly groupSize: string;
  };

type Gathered = {
  readonly subjects: readonly Subject[];
  readonly against: Subject | null;
  readonly missing: readonly string[];
};

/** Gathers rollouts from where the options say, and studies them with the rows that they are of. */
export async function conductStudy(
  environment: string,
  options: StudyOptions,
  terminal: Terminal,
): Promise<Study> {
  const rows =
    options.items === undefined ? realRowsOf(environment, options.environments) : readRows(options.items);
  const gathered =
    options.run === undefined
      ? await playLadder(environment, options, terminal, rows)
      : await readRuns(environment, options, options.run);
  const known = await environmentIn(options.environments, environment);
  const evaluation = options.eval === undefined ? null : readRows(options.eval).map(({ item }) => item);
  const hidden = known === undefined ? [] : graderFields(known.grader);
  const origins = options.group ?? [];
  const items = rows?.map(({ item }) => item) ?? null;
  return studyOf({
    environment,
    ...gathered,
    dataset: items === null ? null : studyDataset(items, evaluation, { hidden, origins }),
    assumed: {
      ...usualAssumptions,
      rolloutsPerStep: countOf(options.stepRollouts),
      copiesPerItem: countOf(options.groupSize),
    },
  });
}

async function readRuns(environment: string, options: StudyOptions, run: string): Promise<Gathered> {
  // The run is what is studied, and not where a command would play.
  const { run: _run, ...log } = options;
  const { subject, missing } = await readRun(log, runId(run), environment);
  if (options.against === undefined) return { subjects: [subject], against: null, missing };
  const other = await readRun(log, runId(options.against), environment);
  return { subjects: [subject], against: other.subject, missing: [...missing, ...other.missing] };
}

async function playLadder(
  environment: string,
  options: StudyOptions,
  terminal: Terminal,
  rows: readonly Row[] | null,
): Promise<Gathered> {
  const { environments: environmentsDir, policy: names = [], against } = options;
  const found = await whatIsPlayed({ environment, environmentsDir, rows }, { alone: false });
  const policies = chosenPolicies(found.policies, names);
  const playing = {
    environment,
    known: found.known,
    rows: spreadOver(found.rows, options.rows === undefined ? found.rows.length : countOf(options.rows)),
    copies: countOf(options.copies),
    atOnce: countOf(options.atOnce),
    countTokens: await loadTokenCounter(),
  };
  const other = found.policies.find(({ name }) => name === against);
  const also = other === undefined || policies.includes(other) ? [] : [other];
  const work = (connection: Connection) => playPolicies(connection, [...policies, ...also], playing);
  const played = await onSomeFleet(options, terminal, work);
  const subjects = played.slice(0, policies.length);
  if (against === undefined) return { subjects, against: subjects[1] ?? null, missing: [] };
  const compared = played.find(({ name }) => name === against);
  if (compared !== undefined) return { subjects, against: compared, missing: [] };
  const { subject, missing } = await readRun(options, runId(against), environment);
  return { subjects, against: subject, missing };
}

/** So many rows, from the whole of the file: its beginning may be of one kind. */
export const spreadOver = <Each>(rows: readonly Each[], count: number): readonly Each[] =>
  rows.filter(
    (_, index) =>
      Math.floor((index * count) / rows.length) !== Math.floor(((index - 1) * count) / rows.length),
  );

/** A whole number from 1, as an option gives it. */
export function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new CommandError(`not a count: ${text}`, 'yours', 'give a whole number from 1');
}
