import { readFileSync } from 'node:fs';
import { type Prompt, promptFields, promptOf } from '#src/model/dataset.ts';
import type { Environment } from '#src/model/environment.ts';
import { graderFields, reservedField } from '#src/model/grader-leaves.ts';
import { systemClock } from '#src/platform/clock.ts';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import { whatIsPlayed } from '../ladder/ladder.ts';
import type { Policy } from '../ladder/policies.ts';
import type { Terminal } from '../print/terminal.ts';
import { environmentIn, realRowsOf, type Row, type RowChoice, splitRows } from '../proving/rows.ts';
import { onSomeFleet, type SomeFleetOptions } from '../proving/some-fleet.ts';
import type { KeptOptions } from '../stories/kept-source.ts';
import type { LogOptions } from '../stories/read-log.ts';
import type { Assumptions } from './burst.ts';
import { chatEndpoint, type EndpointSettings, type Message } from './chat-endpoint.ts';
import { type DatasetStudy, studyDataset } from './dataset.ts';
import { playModel } from './play-model.ts';
import { chosenPolicies, type Playing, playPolicies } from './play-policies.ts';
import { readKeptRun } from './read-kept.ts';
import { readRun } from './read-run.ts';
import { type Ceiling, mean, scoredOf, type Subject } from './rollout.ts';
import type { Study } from './found.ts';
import { studyOf } from './study.ts';
import { loadTokenCounter } from './tokens.ts';

/** Where rollouts come from. */
export type StudySource =
  /** Policies of the ladder, by name; empty: the policies that try. */
  | { readonly kind: 'ladder'; readonly policies: readonly string[] }
  /** `kept`: read from kept rollouts in place of the event log. */
  | {
      readonly kind: 'run';
      readonly run: string;
      readonly tenant?: string | undefined;
      readonly kept: KeptOptions | null;
    }
  | {
      readonly kind: 'model';
      readonly settings: EndpointSettings;
      /** A text with `{item.field}`; null: the environment's own. */
      readonly promptFile: string | null;
      readonly turns: number;
      readonly tokenBudget: number;
    };

export type StudyPlan = {
  readonly environment: string;
  readonly source: StudySource;
  /** A run, or a policy of the ladder; null: where several policies are studied, the second. */
  readonly against: string | null;
  readonly rows: RowChoice;
  /** Rows for evaluation given by the user; null: the environment's own. */
  readonly evaluation: readonly Row[] | null;
  /** Fields that say where a row comes from. */
  readonly origins: readonly string[];
  readonly copies: number;
  readonly atOnce: number;
  readonly assumed: Assumptions;
  /** Where a fleet is, or what it logged. */
  readonly fleet: SomeFleetOptions & LogOptions;
};

type Gathered = {
  readonly subjects: readonly Subject[];
  readonly against: Subject | null;
  readonly ceilings: readonly Ceiling[];
  readonly missing: readonly string[];
};

/** Gathers rollouts from where the plan says, and studies them with the rows that they are of. */
export async function conductStudy(plan: StudyPlan, terminal: Terminal): Promise<Study> {
  const known = await environmentIn(plan.fleet.environments, plan.environment);
  const choice = rowsToPlay(plan, known);
  const gathered = await gather(plan, known, choice, terminal);
  const dataset = datasetOf(plan, known, choice);
  return studyOf({ environment: plan.environment, ...gathered, dataset, assumed: plan.assumed });
}

async function gather(
  plan: StudyPlan,
  known: Environment | undefined,
  rows: RowChoice,
  terminal: Terminal,
): Promise<Gathered> {
  const { source, environment, against, fleet } = plan;
  if (source.kind === 'run') {
    const { kept, tenant } = source;
    const read = (run: string) =>
      kept === null
        ? readRun(fleet, { run, tenant }, environment)
        : readKeptRun(kept, { run, tenant }, environment);
    const { subject, missing } = await read(source.run);
    if (against === null) return { subjects: [subject], against: null, ceilings: [], missing };
    const other = await read(against);
    const told = [...missing, ...other.missing];
    return { subjects: [subject], against: other.subject, ceilings: [], missing: told };
  }
  const played = await onSomeFleet(fleet, plan.environment, terminal, (connection) =>
    playAll(connection, { ...plan, source, rows, known }),
  );
  const [first, second] = played.subjects;
  const compared =
    against === null ? second : played.subjects.concat(played.others).find(({ name }) => name === against);
  if (against === null || (compared !== undefined && compared !== first))
    return { ...played, against: compared ?? null };
  const { subject, missing } = await readRun(fleet, { run: against, tenant: undefined }, environment);
  return { ...played, against: subject, missing: [...played.missing, ...missing] };
}

type ToPlay = StudyPlan & {
  readonly source: Exclude<StudySource, { kind: 'run' }>;
  readonly known: Environment | undefined;
};

/** `others`: a policy that is only compared with. */
type AllPlayed = {
  readonly subjects: readonly Subject[];
  readonly others: readonly Subject[];
  readonly ceilings: readonly Ceiling[];
  readonly missing: readonly string[];
};

async function playAll(connection: Connection, plan: ToPlay): Promise<AllPlayed> {
  const { environment, source, against, known, copies, atOnce } = plan;
  const alone = { alone: source.kind === 'model' };
  const of = { environment, environmentsDir: plan.fleet.environments, rows: plan.rows };
  const { rows, policies } = await whatIsPlayed(of, alone);
  const playing = { environment, known, rows, copies, atOnce, countTokens: await loadTokenCounter() };
  const chosen = source.kind === 'ladder' ? chosenPolicies(policies, source.policies) : [];
  const also = policies.filter((policy) => policy.name === against && !chosen.includes(policy));
  const scripts = await playPolicies(connection, [...chosen, ...also], playing);
  const [subjects, others] = [scripts.slice(0, chosen.length), scripts.slice(chosen.length)];
  const ceilings = await playCeilings(connection, policies, playing);
  if (source.kind === 'ladder') return { subjects, others, ...ceilings };
  const { settings, turns, tokenBudget, promptFile } = source;
  const prompt = promptFor(known, promptFile);
  const endpoint = chatEndpoint(settings, systemClock);
  try {
    const model = { model: settings.model, endpoint, turns, tokenBudget };
    const tell = (row: Row) => tellRow(prompt, row);
    const { subject, missing } = await playModel(connection, { ...playing, ...model, prompt: tell });
    return { subjects: [subject], others, ...ceilings, missing: [...ceilings.missing, ...missing] };
  } finally {
    await endpoint.close();
  }
}

/** Once on each row, because a ceiling has no spread. */
async function playCeilings(
  connection: Connection,
  policies: readonly Policy[],
  playing: Playing,
): Promise<Pick<AllPlayed, 'ceilings' | 'missing'>> {
  const lines = policies.filter(({ kind }) => kind === 'ceiling');
  if (lines.length === 0) return { ceilings: [], missing: [] };
  const played = await playPolicies(connection, lines, { ...playing, copies: 1 });
  const scores = played.map(({ name, rollouts }) => ({ name, rollouts, scored: scoredOf(rollouts) }));
  return {
    ceilings: scores.flatMap(({ name, scored }) => {
      const middle = mean(scored.map(({ ended }) => ended.score));
      return middle === null ? [] : [{ name, mean: middle }];
    }),
    missing: scores.flatMap(({ name, rollouts, scored }) => {
      const lost = rollouts.length - scored.length;
      return lost === 0
        ? []
        : [`${lost} of ${rollouts.length} rollouts of ${name}, the ceiling, have no score`];
    }),
  };
}

/** Two scripts and four copies of each make some minutes of it. */
const usualRows = 40;

/** What is learnt from is what is asked about: training rows, where they are at hand. */
function rowsToPlay({ rows }: StudyPlan, known: Environment | undefined): RowChoice {
  const split = rows.split ?? (rows.given === null && known?.dataset?.train !== undefined ? 'train' : null);
  return { ...rows, split, most: rows.most ?? usualRows };
}

/** Of all rows, including the rows that were not played; null if no rows are at hand. */
function datasetOf(
  { environment, evaluation, origins, fleet }: StudyPlan,
  known: Environment | undefined,
  choice: RowChoice,
): DatasetStudy | null {
  const folder = fleet.environments;
  const own = known?.dataset;
  // A study on eval still learns from train.
  const split = own?.train !== undefined && choice.split !== null ? 'train' : choice.split;
  const rows = realRowsOf(environment, known, folder, { ...choice, split, most: null });
  if (rows === null) return null;
  const apart =
    evaluation ?? (own?.eval === undefined || split === 'eval' ? null : splitRows(own, 'eval', folder));
  return studyDataset(itemsIn(rows), apart === null ? null : itemsIn(apart), {
    hidden: known === undefined ? [] : graderFields(known.grader),
    origins: origins.length > 0 ? origins : (own?.disjoint ?? []),
    ...(own?.prompt === undefined ? {} : { prompt: own.prompt }),
  });
}

const itemsIn = (rows: readonly Row[]) => rows.map(({ item }) => item);

/**
 * The model's prompt for a row: the user's own text, else the prompt of the environment's dataset. Without either it is the
 * description and the fields that the sandbox may see, because only the author knows which other fields are the truth.
 */
function promptFor(known: Environment | undefined, file: string | null): Prompt {
  if (file !== null) return checked({ user: readPrompt(file) }, known, file);
  const own = known?.dataset?.prompt;
  if (own !== undefined) return own;
  const description = known?.description ?? '';
  if (known === undefined || description === '')
    throw new CommandError(
      'there is no prompt',
      'yours',
      'write dataset: {prompt} into the environment, or give a text with {item.field} in it with --prompt',
    );
  const fields = known.expose.map((field) => `${field}: {item.${field}}`);
  return { system: description, user: fields.length === 0 ? 'Begin.' : fields.join('\n') };
}

function tellRow(prompt: Prompt, { item }: Row): readonly Message[] {
  const told = promptOf(prompt, item);
  if ('messages' in told) return told.messages;
  throw new CommandError(
    `the prompt names ${told.missing.map((field) => `{item.${field}}`).join(', ')}, which row ${JSON.stringify(item['id'] ?? item).slice(0, 80)} does not have`,
    'yours',
    'give every row what the prompt names',
  );
}

/** As the prompt of a dataset is checked when it is loaded. */
function checked(prompt: Prompt, known: Environment | undefined, file: string): Prompt {
  const secret = new Set([reservedField, ...(known === undefined ? [] : graderFields(known.grader))]);
  const told = promptFields(prompt).find((path) => secret.has(path.split('.')[0] ?? ''));
  if (told === undefined) return prompt;
  const next = 'remove it: a model that knows the truth says nothing about the task';
  throw new CommandError(`${file} names {item.${told}}, with which the grader compares`, 'yours', next);
}

function readPrompt(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${String(error)}`, 'yours', 'name a text file', error);
  }
}
