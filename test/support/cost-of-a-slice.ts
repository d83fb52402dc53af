import { expect } from 'vitest';
import { cpuMs } from './cpu-time.ts';

/*
 * How long a slice of work blocks all others: its processor time, compared with JSON.parse of the same bytes in the same run.
 */

const mostTimes = 50;
/** What has fewer bytes than these may take as long: every check has some steps, and what is shorter blocks nothing. */
const few = `[${'7,'.repeat(32_768)}7]`;

/** The clock of processor time ticks in milliseconds. */
const measuredMs = 40;

/** Of one of many runs, so that neither other processes nor the clock's ticks decide. */
function eachMs(work: () => unknown): number {
  const startedMs = cpuMs();
  let runs = 0;
  do {
    work();
    runs += 1;
  } while (cpuMs() - startedMs < measuredMs);
  return (cpuMs() - startedMs) / runs;
}

const parseMs = (text: string): number => {
  const bytes = Buffer.from(text);
  return eachMs(() => JSON.parse(bytes.toString('utf8')));
};

/** Far below what `few` allows, and known after a moment. */
const clearlyMs = 1;

function isClearlyShort(slice: () => unknown): boolean {
  const startedMs = cpuMs();
  slice();
  slice();
  return cpuMs() - startedMs < 2 * clearlyMs;
}

/** Throws if the slice takes more than 50 times the JSON.parse of the text. */
export function expectFiftyTimes(slice: () => unknown, text: string): void {
  if (isClearlyShort(slice)) return;
  const bareMs = parseMs(text.length < few.length ? few : text);
  const sliceMs = eachMs(slice);
  expect({ sliceMs, bareMs, fits: sliceMs <= mostTimes * bareMs }).toMatchObject({ fits: true });
}
