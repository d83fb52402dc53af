import type { Redis } from 'ioredis';
import type { FailureCode } from '#src/failure/codes.ts';
import { environmentName, environmentVersion, templateDigest } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { Breaker } from '#src/ports/fleet/pool.ts';
import {
  type FleetReading,
  type FleetWatch,
  type HeardProcess,
  type ProcessWord,
  verdictsOfMs,
  type WaitingRun,
  type WatchedTemplate,
  type EventKeeper,
  type EventKeepers,
  type HeardKeeper,
} from '#src/ports/fleet/watch.ts';
import { classifyTrouble } from './redis-trouble.ts';
import { type Listed, type ReplyOf, type RunScript, scriptsOver } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';

/** Two commands each; no fleet that was ever seen had as many runs that waited at once. */
const mostPlaces = 500;
/** A screen shows 50; the rest is for who sees only some of them. */
const mostRuns = 300;
/** Six commands each. */
const mostTemplates = 300;
/** Many times a fleet: what starts and fails every second for five minutes. */
const mostProcesses = 200;
/** Five words of which none came. A process that was killed delays the start of one with other timings for so long. */
const endedAfterMs = 10_000;

export function watchStore(run: RunScript, client: Redis): FleetWatch {
  const { ask } = scriptsOver(run);
  return {
    read: async (known) => {
      const asked = { mostPlaces, mostRuns, mostTemplates, known: known.slice(0, mostTemplates) };
      // Sent in one go, so that Redis' own clock tells what the script took, and not how late anybody is.
      const [before, reply, after] = await Promise.all([
        client.time(),
        ask('watch', asked),
        client.time(),
      ]).catch(rethrow);
      return { ...readingOf(reply), costMs: Math.max(0, msOf(after) - msOf(before)) };
    },
    tell: async (process, word) => {
      await ask('keep-word', wordOf(process, word));
    },
    agree: async (process, word) => {
      const { others = null, isTooOld } = await ask('agree-timings', {
        ...wordOf(process, word),
        silentMs: endedAfterMs,
      });
      return isTooOld === true ? 'release_skipped' : others;
    },
  };
}

const wordOf = (process: string, word: ProcessWord) => ({
  process,
  word: JSON.stringify(word),
  keptMs: verdictsOfMs,
  most: mostProcesses,
});

function rethrow(thrown: unknown): never {
  throw classifyTrouble(thrown);
}

/** Seconds and microseconds, as TIME has them. */
const msOf = ([seconds, microseconds]: readonly (number | string)[]) =>
  Number(seconds) * 1_000 + Number(microseconds) / 1_000;

function readingOf(reply: ReplyOf<'watch'>): Omit<FleetReading, 'costMs'> {
  const { line, templates, processes, ...reading } = reply;
  return {
    ...reading,
    line: itemsOf(line).map(waitingOf),
    templates: itemsOf(templates).map(templateOf),
    processes: itemsOf(processes).map(processOf),
  };
}

type WaitingRow = Extract<ReplyOf<'watch'>['line'], readonly unknown[]>[number];

function waitingOf({ template, first, ...row }: WaitingRow): WaitingRun {
  return { ...row, template: templateDigest(template), first: first as RolloutKey };
}

type TemplateRow = Extract<ReplyOf<'watch'>['templates'], readonly unknown[]>[number];

function templateOf(row: TemplateRow): WatchedTemplate {
  const { template, breaker, lastFailure, environment, chosenFor, isGraders = false, ...counts } = row;
  return {
    ...counts,
    template: templateDigest(template),
    breaker: breaker as Breaker,
    lastFailure: lastFailure === undefined ? null : { ...lastFailure, code: lastFailure.code as FailureCode },
    environment: environment === undefined ? null : environmentName(environment),
    chosenFor: chosenFor === undefined ? null : environmentVersion(chosenFor),
    isGraders,
  };
}

/** Processes of this fleet wrote it, so it is not checked again here. */
function processOf({ silentMs, word }: Word): HeardProcess {
  return { ...(JSON.parse(word) as ProcessWord), silentMs };
}

type Word = { readonly silentMs: number; readonly word: string };

/** Whoever looks for the story of a night's rollout does so on the next day. */
const keptMs = 24 * 60 * 60_000;
/** Ten rolling updates a day of fifty processes. */
const mostLogs = 500;

export function eventKeeperStore(run: RunScript): EventKeepers {
  const { ask } = scriptsOver(run);
  return {
    tell: async (log, keeper) => {
      await ask('keep-word', { log, word: JSON.stringify(keeper), keptMs, most: mostLogs });
    },
    all: async () => itemsOf(await ask('list-event-logs', {})).map(keeperOf),
  };
}

function keeperOf({ log, silentMs, word }: Listed<'list-event-logs'>): HeardKeeper {
  // Written by this adapter alone.
  return { ...(JSON.parse(word) as EventKeeper), log, silentMs };
}
