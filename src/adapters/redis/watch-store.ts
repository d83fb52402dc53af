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
import {
  listOf,
  numberOf,
  numberOrNull,
  textOf,
  textOrNull,
  type Reply,
  type RunScript,
} from './script-runner.ts';

/** Two commands each; no fleet that was ever seen had as many runs that waited at once. */
const mostPlaces = 500;
/** A screen shows 50; the rest is for who sees only some of them. */
const mostRuns = 300;
/** Six commands each. */
const mostTemplates = 300;
/** Many times a fleet: what starts and fails every second for five minutes. */
const mostProcesses = 200;

export function watchStore(run: RunScript, client: Redis): FleetWatch {
  return {
    read: async (known) => {
      // Sent in one go, so that Redis' own clock tells what the script took, and not how late anybody is.
      const [before, reply, after] = await Promise.all([
        client.time(),
        run('watch', mostPlaces, mostRuns, mostTemplates, ...known.slice(0, mostTemplates)),
        client.time(),
      ]).catch(rethrow);
      return { ...readingOf(reply), costMs: Math.max(0, msOf(after) - msOf(before)) };
    },
    tell: async (process, word) => {
      await run('tell-presence', process, JSON.stringify(word), verdictsOfMs, mostProcesses);
    },
  };
}

function rethrow(thrown: unknown): never {
  throw classifyTrouble(thrown);
}

/** Seconds and microseconds, as TIME has them. */
const msOf = ([seconds, microseconds]: readonly (number | string)[]) =>
  Number(seconds) * 1_000 + Number(microseconds) / 1_000;

function readingOf(reply: Reply): Omit<FleetReading, 'costMs'> {
  const [rollouts, sandboxes, line, runsLeftOut, templates, templatesLeftOut, processes] = listOf(reply);
  const [open, inLine, callsRunning] = listOf(rollouts).map(numberOf);
  const [all, starting, leaving] = listOf(sandboxes).map(numberOf);
  return {
    rollouts: { open: numberOf(open), inLine: numberOf(inLine), callsRunning: numberOf(callsRunning) },
    sandboxes: { all: numberOf(all), starting: numberOf(starting), leaving: numberOf(leaving) },
    line: listOf(line).map(waitingOf),
    runsLeftOut: numberOf(runsLeftOut),
    templates: listOf(templates).map(templateOf),
    templatesLeftOut: numberOf(templatesLeftOut),
    processes: listOf(processes).map(processOf),
  };
}

function waitingOf(row: Reply): WaitingRun {
  const [template, waiting, ahead, first, firstWaitsMs] = listOf(row);
  return {
    template: templateDigest(textOf(template)),
    waiting: numberOf(waiting),
    ahead: numberOf(ahead),
    first: textOf(first) as RolloutKey,
    firstWaitsMs: numberOf(firstWaitsMs),
  };
}

function templateOf(row: Reply): WatchedTemplate {
  const [template, ready, starting, held, waiting, announced, breaker, code, agoMs, environment, version] =
    listOf(row);
  const failed = textOrNull(code);
  const [name, chosenFor] = [textOrNull(environment), textOrNull(version)];
  return {
    template: templateDigest(textOf(template)),
    ready: numberOf(ready),
    starting: numberOf(starting),
    held: numberOf(held),
    waiting: numberOf(waiting),
    announced: numberOf(announced),
    breaker: textOf(breaker) as Breaker,
    lastFailure: failed === null ? null : { code: failed as FailureCode, agoMs: numberOrNull(agoMs) ?? 0 },
    environment: name === null ? null : environmentName(name),
    chosenFor: chosenFor === null ? null : environmentVersion(chosenFor),
  };
}

/** Processes of this fleet wrote it, so it is not checked again here. */
function processOf(row: Reply): HeardProcess {
  const [silentMs, word] = listOf(row);
  return { ...(JSON.parse(textOf(word)) as ProcessWord), silentMs: numberOf(silentMs) };
}

/** Whoever looks for the story of a night's rollout does so on the next day. */
const keptMs = 24 * 60 * 60_000;
/** Ten rolling updates a day of fifty processes. */
const mostLogs = 500;

export function eventKeeperStore(run: RunScript): EventKeepers {
  return {
    tell: async (log, keeper) => {
      await run('tell-event-log', log, JSON.stringify(keeper), keptMs, mostLogs);
    },
    all: async () => listOf(await run('list-event-logs')).map(keeperOf),
  };
}

function keeperOf(reply: Reply): HeardKeeper {
  const [log, silentMs, word] = listOf(reply);
  // Written by this adapter alone.
  const keeper = JSON.parse(textOf(word)) as EventKeeper;
  return { ...keeper, log: textOf(log), silentMs: numberOf(silentMs) };
}
