import { isUtf8 } from 'node:buffer';
import type { CallSelector, FileContent, Grader, MostAnswers, RowFiles } from '#src/model/grader.ts';
import { itemFieldOf, placeholdersIn } from '#src/model/placeholder.ts';
import type { Path } from '../mistakes.ts';
import { parseBytes, parseDurationMs } from '../quantities.ts';
import type { GraderYaml, WholeGraderYaml } from '../schema/grader.ts';
import { httpGrader } from './judge-grader.ts';
import { freshOf, type GraderInHand, type GraderOf } from './grader-sandbox.ts';

/** For tests to run. */
const usualCommandTimeout = '10m';

/** The grader with its parts, defaults filled in and files read. */
export function compileGrader(yaml: WholeGraderYaml, inHand: GraderInHand): Grader {
  const part = (inner: GraderYaml, ...steps: Path): Grader =>
    compileGrader(inner, { ...inHand, place: [...inHand.place, ...steps] });
  switch (yaml.kind) {
    case 'none':
      return { kind: 'none' };
    case 'f1':
    case 'recall':
      return setGrader(yaml);
    case 'text':
      return textGrader(yaml, inHand);
    case 'command':
      return commandGrader(yaml, inHand);
    case 'http':
      return httpGrader(yaml, inHand);
    case 'calls':
      return callsGrader(yaml, inHand);
    case 'gate':
      return {
        kind: 'gate',
        all: yaml.all.map((check, index) => part(check, 'all', index)),
        grader: part(yaml.grader, 'grader'),
      };
    case 'lowest':
      return { kind: 'lowest', of: yaml.of.map((inner, index) => part(inner, 'of', index)) };
    case 'weighted':
      return {
        kind: 'weighted',
        parts: yaml.parts.map(({ weight, grader }, index) => ({
          weight,
          grader: part(grader, 'parts', index, 'grader'),
        })),
      };
    case 'penalty':
      return {
        kind: 'penalty',
        grader: part(yaml.grader, 'grader'),
        freeCalls: yaml.free_calls,
        each: yaml.each,
        floor: yaml.floor ?? 0,
        ...surcharges(yaml, inHand),
      };
  }
}

function surcharges({ time, bytes }: GraderOf<'penalty'>, { place, report }: GraderInHand) {
  if (time && parseDurationMs(time.per) === 0) report([...place, 'time', 'per'], 'must be above 0');
  if (bytes && parseBytes(bytes.per) === 0) report([...place, 'bytes', 'per'], 'must be above 0');
  return {
    ...(time && {
      time: { free: parseDurationMs(time.free), per: parseDurationMs(time.per), each: time.each },
    }),
    ...(bytes && { bytes: { free: parseBytes(bytes.free), per: parseBytes(bytes.per), each: bytes.each } }),
  };
}

/** What an author leaves out is left out here too, so that the versions of environments stay what they were. */
function setGrader(yaml: GraderOf<'f1' | 'recall'>): Grader {
  const { kind, answer, reference } = yaml;
  const most = yaml.kind === 'recall' ? yaml.most : undefined;
  const above = yaml.kind === 'f1' ? yaml.refuse_above : undefined;
  return {
    kind,
    answer,
    reference,
    ...(yaml.compare === 'code' ? { compare: yaml.compare } : {}),
    ...(most === undefined ? {} : { most: mostOf(most) }),
    ...(above === undefined ? {} : { refuseAbove: mostOf(above) }),
  };
}

const mostOf = (written: number | string): MostAnswers =>
  typeof written === 'number' ? { count: written } : { timesExpected: Number.parseFloat(written) };

function textGrader(yaml: GraderOf<'text'>, { place, report }: GraderInHand): Grader {
  const tolerance = yaml.tolerance ?? 0;
  const partialWithin = yaml.partial_within ?? tolerance;
  if (partialWithin < tolerance) {
    report([...place, 'partial_within'], 'must not be below tolerance: nearer answers would earn less');
  }
  const match = yaml.match ?? 'normalised';
  for (const field of ['magnitudes', 'currencies', 'partial'] as const) {
    if (yaml[field] !== undefined && match !== 'numeric')
      report([...place, field], 'is of numbers: it needs match: numeric');
  }
  if (yaml.partial !== undefined && yaml.partial_within !== undefined) {
    report([...place, 'partial'], 'says with partial_within two things of one number; write one of them');
  }
  return {
    kind: 'text',
    answer: yaml.answer ?? 'output_text',
    reference: yaml.reference,
    match,
    tolerance,
    partialWithin,
    ...numberReading(yaml),
    ...(yaml.partial === undefined
      ? {}
      : { partial: { ...yaml.partial, rounding: yaml.partial.rounding ?? false } }),
  };
}

function numberReading({ magnitudes, currencies }: GraderOf<'text'>) {
  if (magnitudes === undefined && currencies === undefined) return {};
  return { reading: { magnitudes: lowerCase(magnitudes), currencies: lowerCase(currencies) } };
}

const lowerCase = (words: readonly string[] = []) => words.map((word) => word.toLowerCase());

/** By this name a program finds the whole rollout; where it stands nowhere, nothing of that is kept. */
const rolloutVariable = 'CORRAL_ROLLOUT';

function commandGrader(yaml: GraderOf<'command'>, inHand: GraderInHand): Grader {
  const files = filesOf(yaml, inHand);
  const readsRollout = [...yaml.command, ...Object.values(files)].some((text) =>
    text.includes(rolloutVariable),
  );
  return {
    kind: 'command',
    argv: yaml.command,
    files,
    timeoutMs: parseDurationMs(yaml.timeout ?? usualCommandTimeout),
    onExit: yaml.on_exit,
    onTimeout: yaml.on_timeout,
    onOutOfMemory: yaml.on_out_of_memory,
    onBroken: yaml.on_broken,
    ...(readsRollout && { readsRollout }),
    ...rowFilesOf(yaml, inHand),
    ...freshOf(yaml, inHand),
  };
}

function filesOf({ files = {} }: GraderOf<'command'>, { place, folder, report }: GraderInHand) {
  const { from: _ofRows, ...named } = files;
  const texts = Object.entries(named).map(([name, written]) => {
    if (typeof written === 'string') return [name, written];
    const text = folder.text(written.file);
    if (text === null)
      report([...place, 'files', name], `names the file ${written.file}, which cannot be read`);
    return [name, text ?? ''];
  });
  return Object.fromEntries(texts) as Readonly<Record<string, string>>;
}

/** One question to a grader, so that each has its weight. */
function callsGrader({ opened, checked }: GraderOf<'calls'>, { place, report }: GraderInHand): Grader {
  if ((opened === undefined) === (checked === undefined))
    report(place, 'must ask one thing: opened or checked; weighted and gate put several together');
  if (opened === undefined) return checkedGrader(checked);
  const tools = Object.entries(opened.tools).map(([tool, argument]) => ({ tool, argument }));
  const most = opened.most === undefined ? {} : { most: mostOf(opened.most) };
  return { kind: 'calls', asks: 'opened', reference: opened.reference, tools, ...most };
}

function checkedGrader(checked: GraderOf<'calls'>['checked']): Grader {
  const { edits = [], checks = [], passing = true } = checked ?? {};
  return {
    kind: 'calls',
    asks: 'checked',
    edits: edits.map(selector),
    checks: checks.map(selector),
    passing,
  };
}

const selector = (written: string | Required<CallSelector>): CallSelector =>
  typeof written === 'string' ? { tool: written } : written;

/** They are part of the environment, which every gateway and controller has in memory, and go to a grade by row. */
const mostBytesOfAll = 8 * 1024 * 1024;

/**
 * The hidden files of all rows, by what a row says of itself. A row's word chooses among names that were read here, once,
 * and is never part of a path, so that it may say what it likes.
 */
function rowFilesOf(
  { files = {} }: GraderOf<'command'>,
  { place, folder, report }: GraderInHand,
): { readonly rowFiles?: RowFiles } {
  const { from } = files;
  if (from === undefined) return {};
  const field = placeholdersIn(from).map(itemFieldOf)[0] ?? '';
  const above = from.slice(0, from.indexOf('{'));
  const names = folder.foldersIn(above === '' ? '.' : above);
  const where = [...place, 'files', 'from'];
  if (names.length === 0) report(where, `finds no folder of a row in ${above === '' ? 'this one' : above}`);
  let allBytes = 0;
  const folders = names.map((name) => {
    const tree = folder.filesBelow(`${above}${name}`);
    const files = typeof tree === 'string' ? {} : tree;
    if (typeof tree === 'string') report(where, `names ${above}${name}/, which ${tree}`);
    const bytes = Object.values(files).reduce((sum, { length }) => sum + length, 0);
    allBytes += bytes;
    return [
      name,
      Object.fromEntries(Object.entries(files).map(([path, one]) => [path, contentOf(one)])),
    ] as const;
  });
  if (allBytes > mostBytesOfAll)
    report(
      where,
      `has ${allBytes} bytes for all rows, of at most ${mostBytesOfAll}: put what rows share into the image`,
    );
  return { rowFiles: { field, folders: Object.fromEntries(folders) } };
}

const contentOf = (bytes: Buffer): FileContent =>
  isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') };
