import { createReadStream } from 'node:fs';
import { Compile } from 'typebox/compile';
import { isWanted, parseEvent, splitLines } from '#src/adapters/event-log/event-lines.ts';
import { everyRollout, readEvents } from '#src/adapters/event-log/read-events.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import { KeepersLine, type Wanted } from '#src/protocol/fleet/events.ts';
import type { Missing, RolloutStory } from '#src/reports/rollout-story.ts';
import { CommandError } from '../command-error.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';
import { type Connection, type ConnectionOptions, findConnection } from '../gateway/connection.ts';
import { createHttpClient, type HttpClient } from '../gateway/http-client.ts';
import type { Terminal } from '../print/terminal.ts';
import { mostRollouts, type Outline, Outlines } from './outlines.ts';
import { storiesOfEvents, type ToldLog } from './rollout-sources.ts';
import type { Making } from './making.ts';
import { toldByIndex } from './told-by-index.ts';

/** What a gateway tells at most; a file may have more. */
const mostBytes = 64 * 1024 * 1024;

/** Call by call: for one rollout. Each event counts once: logs of a pod are often saved twice. */
export function tellingStories(): Making<readonly RolloutStory[]> {
  const kept = new Map<string | RolloutEvent, RolloutEvent>();
  let bytes = 0;
  const add = (event: RolloutEvent, line?: string) => {
    if (kept.has(line ?? event)) return true;
    bytes += line?.length ?? 0;
    if (bytes <= mostBytes) kept.set(line ?? event, event);
    return bytes <= mostBytes;
  };
  return { add, made: () => storiesOfEvents([...kept.values()]), most: `${mostBytes} bytes of it` };
}

/** For many rollouts. Repeated lines are identical except for the number of calls. */
export function outlining(): Making<readonly Outline[]> {
  const outlines = new Outlines();
  return {
    add: (event) => outlines.add(event),
    finish: (key) => outlines.finish(key),
    made: () => outlines.all,
    most: `${mostRollouts} rollouts`,
  };
}

export type LogOptions = ConnectionOptions & {
  /** A file with events and anything else between them, `-` for standard input: instead of all other logs. */
  readonly events?: string | undefined;
};

/**
 * What is logged about these rollouts: from the named file, else from the fleet's gateway with the parts of all its processes, else
 * from the state folder of this machine.
 */
export async function readLog<Made>(
  options: LogOptions,
  wanted: Wanted,
  variables: Readonly<Record<string, string | undefined>>,
  making: () => Making<Made>,
): Promise<ToldLog<Made>> {
  if (options.events !== undefined)
    return { ...(await toldInFile(options.events, wanted, making())), hasWhy: true };
  const told = await toldByFleet(options, wanted, variables, making);
  return told ?? toldInFolder(options, wanted, making());
}

/** Of all rollouts, from the state folder of this machine; a remark says what is left out. */
export async function outlinesInFolder(
  options: ConnectionOptions,
  { remark }: Pick<Terminal, 'remark'>,
): Promise<readonly Outline[]> {
  const { told, missing } = await toldInFolder(options, everyRollout, outlining());
  for (const { keeper, why } of missing) remark(`${keeper}: ${why}; the oldest are left out`);
  return told;
}

async function toldInFolder<Made>(
  { state = defaultStateFolder }: ConnectionOptions,
  wanted: Wanted,
  making: Making<Made>,
): Promise<ToldLog<Made>> {
  const folder = stateFolderAt(state).events;
  let isWhole = true;
  for await (const event of readEvents(folder, wanted)) isWhole = making.add(event) && isWhole;
  return { told: making.made(), missing: isWhole ? [] : [tooMuch(`the event log in ${folder}`, making)] };
}

async function toldInFile<Made>(path: string, wanted: Wanted, making: Making<Made>): Promise<ToldLog<Made>> {
  const stream = path === '-' ? process.stdin : createReadStream(path);
  try {
    return await gather(splitLines(stream as AsyncIterable<Uint8Array>), wanted, path, making);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    const next = 'name a file of event lines, or - for standard input';
    throw new CommandError(`the events cannot be read: ${cause.message}`, 'yours', next, cause);
  }
}

const keepersCheck = Compile(KeepersLine);
/** A gateway looks through logs for ten seconds at most. */
const answerMs = 20_000;

/** Null: there is no gateway, or it does not return events. The next request to it reports why. */
async function toldByFleet<Made>(
  options: LogOptions,
  wanted: Wanted,
  variables: Readonly<Record<string, string | undefined>>,
  making: () => Making<Made>,
): Promise<ToldLog<Made> | null> {
  const connection = findConnection(options, variables);
  if (connection === null) return null;
  const client = createHttpClient(connection);
  const place = { state: options.state ?? defaultStateFolder, variables };
  try {
    const indexed = await toldByIndex({ client, connection, place }, wanted, making);
    if (indexed !== null && indexed.whole !== null) return indexed.whole;
    const newest = await toldByGateway(client, connection, wanted, making);
    return newest === null ? null : { ...newest, missing: [...(indexed?.missing ?? []), ...newest.missing] };
  } finally {
    await client.close();
  }
}

/** The newest of what a gateway tells. */
async function toldByGateway<Made>(
  client: HttpClient,
  connection: Connection,
  { run, rollout, verdicts }: Wanted,
  making: () => Making<Made>,
): Promise<ToldLog<Made> | null> {
  const query = verdicts === true ? '?only=verdicts' : '';
  const path =
    rollout === null ? `/v1/runs/${part(run)}/events${query}` : `/v1/rollouts/${part(rollout)}/events`;
  try {
    const named = run === null || rollout === null ? {} : { run };
    const lines = await client.lines({ path, deadlineMs: answerMs, ...named });
    return lines === null
      ? null
      : await gather(lines, anyTenant(run, rollout), `the gateway at ${connection.url}`, making());
  } catch (thrown) {
    if (thrown instanceof CommandError) return null;
    throw thrown;
  }
}

const part = (text: string | null): string => encodeURIComponent((text ?? '').toWellFormed());

export const anyTenant = (run: Wanted['run'], rollout: Wanted['rollout']): Wanted => ({
  tenant: null,
  run,
  rollout,
});

async function gather<Made>(
  lines: AsyncIterable<string>,
  wanted: Wanted,
  from: string,
  making: Making<Made>,
): Promise<ToldLog<Made>> {
  let missing: readonly Missing[] | null = null;
  for await (const line of lines) {
    const found = eventIn(line);
    if (found === null) missing ??= missingIn(line);
    if (found === null || !isWanted(found.event, wanted)) continue;
    if (!making.add(found.event, found.text))
      return { told: making.made(), missing: [tooMuch(from, making)] };
  }
  const whole = from.startsWith('the gateway') ? [brokenOff(from)] : [];
  return { told: making.made(), missing: missing ?? whole };
}

/** What `kubectl logs` may put before a line, of our own containers only: `[pod/lab-gateway-7d9f-abcde/gateway] `, and a time. */
const before =
  /^(?:\[pod\/[a-z0-9.-]{1,253}\/(?:gateway|controller)\] )?(?:\d{4}-\d\d-\d\dT[\d:.]{8,18}Z )?(?=\{)/;

function eventIn(line: string): { readonly text: string; readonly event: RolloutEvent } | null {
  const text = line.replace(before, '');
  const event = text.startsWith('{"kind":') ? parseEvent(text) : null;
  return event === null ? null : { text, event };
}

function missingIn(line: string): readonly Missing[] | null {
  if (!line.startsWith('{"kind":"keepers"')) return null;
  const value: unknown = JSON.parse(line);
  if (!keepersCheck.Check(value)) return null;
  return value.keepers.flatMap(({ keeper, heard_at_ms: heardAtMs, told, why }) =>
    told === 'all' ? [] : [{ keeper, heardAtMs, told, why: why ?? 'it did not say why' }],
  );
}

const tooMuch = (from: string, { most }: Pick<Making<unknown>, 'most'>): Missing => ({
  keeper: from,
  heardAtMs: null,
  told: 'some',
  why: `it has more than ${most}`,
});

const brokenOff = (from: string): Missing => ({
  keeper: from,
  heardAtMs: null,
  told: 'some',
  why: 'its answer broke off',
});
