import {
  productionTimings,
  timingMistakes,
  timingNames,
  type TimingName,
  type Timings,
} from '../model/timings.ts';
import type { ConfigReader } from './config.ts';
import { docsPage } from './docs.ts';

const variable = 'CORRAL_TIMINGS';
const example = '{"requestHoldMs": 300000}';

/** `CORRAL_TIMINGS`, JSON with the durations that differ from production's, for every process of a fleet alike. */
export function readTimings(read: ConfigReader): Timings {
  const text = read.optional(variable);
  if (text === null) return productionTimings;
  const changes = parse(text);
  if (changes === null) {
    read.mistake(
      `${variable} is ${text}, not JSON such as ${example}; ${docsPage('timings.md')} lists the names`,
    );
    return productionTimings;
  }
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

function parse(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}
