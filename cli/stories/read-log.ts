import { createReadStream } from 'node:fs';
import { Compile } from 'typebox/compile';
import { splitLines } from '../../src/adapters/event-log/lines.ts';
import { isWanted, parseEvent } from '../../src/adapters/event-log/parse-event.ts';
import { readEvents } from '../../src/adapters/event-log/read-events.ts';
import type { RolloutEvent } from '../../src/ports/event-log.ts';
import { KeepersLine } from '../../src/protocol/fleet/events.ts';
import type { Wanted } from '../../src/protocol/fleet/events.ts';
import type { Missing, RolloutStory } from '../../src/reports/rollout-story.ts';
import { CommandError } from '../command-error.ts';
import { findConnection } from '../gateway/connection.ts';
import type { ConnectionOptions } from '../gateway/connection.ts';
import { createHttpClient } from '../gateway/http-client.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';
import { storiesOfEvents } from './stories-of-events.ts';

/** What event logs tell, and who of the fleet told less than there is. */
export type ToldLog = { readonly stories: readonly RolloutStory[]; readonly missing: readonly Missing[] };

export type LogOptions = ConnectionOptions & {
  /** A file with events and anything else between them, `-` for standard input: instead of all other logs. */
  readonly events?: string | undefined;
};

type Events = { readonly events: readonly RolloutEvent[]; readonly missing: readonly Missing[] };

/**
 * What is logged of these rollouts: in the file that is named; else as the fleet's gateway tells it, with the parts of all its
 * processes; else, where nobody tells, in the state folder of this machine.
 */
export async function readLog(
  options: LogOptions,
  wanted: Wanted,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<ToldLog> {
  const { events, missing } =
    options.events === undefined
      ? ((await eventsOfFleet(options, wanted, variables)) ?? (await eventsOfFolder(options, wanted)))
      : await eventsOfFile(options.events, wanted);
  return { stories: storiesOfEvents(events), missing };
}

async function eventsOfFolder({ state = defaultStateFolder }: LogOptions, wanted: Wanted): Promise<Events> {
  return {
    events: await Array.fromAsync(readEvents(stateFolderAt(state).events, wanted)),
    missing: [],
  };
}

async function eventsOfFile(path: string, wanted: Wanted): Promise<Events> {
  const stream = path === '-' ? process.stdin : createReadStream(path);
  try {
    return await gather(splitLines(stream as AsyncIterable<Uint8Array>), wanted, path);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    const next = 'name a file of event lines, or - for standard input';
    throw new CommandError(`the events cannot be read: ${cause.message}`, 'yours', next, cause);
  }
}

const keepersCheck = Compile(KeepersLine);
/** A gateway looks through logs for ten seconds at most. */
const answerMs = 20_000;

/** Null: there is no gateway, or it does not tell events; why, whoever asks it for the rest is told. */
async function eventsOfFleet(
  options: LogOptions,
  { run, rollout }: Wanted,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Events | null> {
  const connection = findConnection(options, variables);
  if (connection === null) return null;
  const client = createHttpClient(connection);
  const path = rollout === null ? `/v1/runs/${part(run)}/events` : `/v1/rollouts/${part(rollout)}/events`;
  try {
    const named = run === null || rollout === null ? {} : { run };
    const lines = await client.lines({ path, deadlineMs: answerMs, ...named });
    return lines === null
      ? null
      : await gather(lines, anyTenant(run, rollout), `the gateway at ${connection.url}`);
  } catch (thrown) {
    if (thrown instanceof CommandError) return null;
    throw thrown;
  } finally {
    await client.close();
  }
}

const part = (text: string | null): string => encodeURIComponent((text ?? '').toWellFormed());

export const anyTenant = (run: Wanted['run'], rollout: Wanted['rollout']): Wanted => ({
  tenant: null,
  run,
  rollout,
});

/** What a gateway tells at most; a file may have more. */
const mostBytes = 64 * 1024 * 1024;

/** Keeps what is wanted, once: logs of a pod are often saved twice. */
async function gather(lines: AsyncIterable<string>, wanted: Wanted, from: string): Promise<Events> {
  const kept = new Map<string, RolloutEvent>();
  let bytes = 0;
  let missing: readonly Missing[] | null = null;
  for await (const line of lines) {
    const found = eventIn(line);
    if (found === null) missing ??= missingIn(line);
    if (found === null || !isWanted(found.event, wanted) || kept.has(found.text)) continue;
    bytes += found.text.length;
    if (bytes > mostBytes) return { events: [...kept.values()], missing: [tooMuch(from)] };
    kept.set(found.text, found.event);
  }
  const whole = from.startsWith('the gateway') ? [brokenOff(from)] : [];
  return { events: [...kept.values()], missing: missing ?? whole };
}

/** What `kubectl logs` may put before a line, of our own containers only: `[pod/red-gateway-7d9f-abcde/gateway] `, and a time. */
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

const tooMuch = (from: string): Missing => ({
  keeper: from,
  heardAtMs: null,
  told: 'some',
  why: `it has more than ${mostBytes} bytes of it`,
});

const brokenOff = (from: string): Missing => ({
  keeper: from,
  heardAtMs: null,
  told: 'some',
  why: 'its answer broke off',
});
