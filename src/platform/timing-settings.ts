import {
  changedTimings,
  productionTimings,
  type TimingChanges,
  timingMistakes,
  timingNames,
  type TimingName,
  type Timings,
  type TimingSettings,
} from '../model/timings.ts';
import type { ConfigReader } from './config.ts';
import { docsPage } from './docs.ts';

const variable = 'CORRAL_TIMINGS';
const example = '{"requestHoldMs": 300000}';

const usual: TimingSettings = { timings: productionTimings, replacedTimings: null };

/**
 * `CORRAL_TIMINGS`, JSON with the durations that differ from production's, for every process of a fleet alike. Its member `replaces` has,
 * in the same form, the timings from which the fleet is being changed.
 */
export function readTimings(read: ConfigReader): TimingSettings {
  const text = read.optional(variable);
  if (text === null) return usual;
  const changes = parse(text);
  if (changes === null) {
    read.mistake(
      `${variable} is ${text}, not JSON such as ${example}; ${docsPage('timings.md')} lists the names`,
    );
    return usual;
  }
  const { replaces, ...own } = changes;
  const timings = timingsWith(read, own);
  return { timings, replacedTimings: replaces === undefined ? null : replacedBy(read, replaces) };
}

function replacedBy(read: ConfigReader, replaces: unknown): TimingChanges | null {
  if (isFields(replaces)) return changedTimings(timingsWith(read, replaces));
  read.mistake(
    `${variable} has replaces: ${JSON.stringify(replaces)}, not the timings that these replace, such as {} for the defaults`,
  );
  return null;
}

function timingsWith(read: ConfigReader, changes: Fields): Timings {
  const wrong = Object.entries(changes).filter(([name, value]) => !isTiming(name, value));
  for (const [name, value] of wrong)
    read.mistake(
      `${variable} has ${JSON.stringify({ [name]: value })}: use a name of ${docsPage('timings.md')} with whole milliseconds from 1`,
    );
  const timings = { ...productionTimings, ...changes } as Timings;
  if (wrong.length === 0) for (const each of timingMistakes(timings)) read.mistake(`${variable}: ${each}`);
  return timings;
}

function isTiming(name: string, value: unknown): boolean {
  return timingNames.includes(name as TimingName) && Number.isSafeInteger(value) && Number(value) > 0;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parse(text: string): Fields | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return isFields(parsed) ? parsed : null;
  } catch {
    return null;
  }
}
