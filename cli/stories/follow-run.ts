import { setTimeout as sleep } from 'node:timers/promises';
import { Compile } from 'typebox/compile';
import { parseEvent } from '#src/adapters/event-log/event-lines.ts';
import { parseFileName } from '#src/adapters/event-log/log-folder.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { EventIndex, IndexedFile, IndexedLine } from '#src/ports/event-index.ts';
import { KeepersLine } from '#src/protocol/fleet/events.ts';
import { fileGone, isBusy } from '#src/reports/own-events.ts';
import type { Missing } from '#src/reports/rollout-story.ts';
import { CommandError } from '../command-error.ts';
import type { HttpClient } from '../gateway/http-client.ts';

/*
 * Reads all that a fleet logged of a run into an index, however much it is: file by file from the byte where the last reading ended,
 * in answers of some megabytes. What cannot be read is named with its process: a log that died with its pod, a file that was
 * removed before it was read.
 */

type Keeper = KeepersLine['keepers'][number];
type FollowedLog = Keeper & { readonly log: string };

const keepersCheck = Compile(KeepersLine);
/** A gateway looks for 5 s, and asks another process for 10 s at most. */
const answerMs = 20_000;
/** A process answers two readers at once, and others after them. */
const mostTries = 20;
/** What is broken does not end as a line of readers does. */
const brokenCosts = 5;
const againMs = 500;

/** Null: the gateway is too old for this. */
export async function followRun(
  client: HttpClient,
  run: string,
  index: EventIndex,
): Promise<readonly Missing[] | null> {
  const path = `/v1/runs/${encodeURIComponent(run)}/events`;
  const listed = await askPage(client, `${path}?only=logs`);
  if (listed === null) return null;
  const keepers = listed.keepers ?? [];
  const unread = await Promise.all(keepers.map((keeper) => readLogOf(client, path, keeper, index)));
  const missing = [...unread.flat(), ...lostFiles(keepers, index)];
  return listed.keepers === null ? [...missing, unlisted] : missing;
}

const unlisted: Missing = {
  keeper: 'the gateway',
  heardAtMs: null,
  told: 'some',
  why: 'its list of logs broke off',
};

type Page = { readonly lines: readonly IndexedLine[]; readonly keepers: readonly Keeper[] | null };

/** Null: it is no answer of lines. `keepers`: null if the answer broke off. */
async function askPage(client: HttpClient, path: string): Promise<Page | null> {
  const answer = await client.lines({ path, deadlineMs: answerMs });
  if (answer === null) return null;
  const lines: IndexedLine[] = [];
  let keepers: readonly Keeper[] | null = null;
  for await (const line of answer) {
    const event = parseEvent(line);
    if (event !== null) lines.push({ key: event.key, atMs: event.atMs, sinceMs: sinceMsOf(event), line });
    else keepers ??= keepersIn(line);
  }
  return { lines, keepers };
}

/** A verdict is about all of its rollout. */
function sinceMsOf(event: RolloutEvent): number {
  if (event.kind === 'call_settled') return Math.min(event.atMs, event.summary.startedAtMs);
  return event.kind === 'verdict' ? Math.min(event.atMs, event.openedAtMs ?? event.atMs) : event.atMs;
}

function keepersIn(line: string): readonly Keeper[] | null {
  if (!line.startsWith('{"kind":"keepers"')) return null;
  const value: unknown = JSON.parse(line);
  return keepersCheck.Check(value) ? value.keepers : null;
}

async function readLogOf(
  client: HttpClient,
  path: string,
  keeper: Keeper,
  index: EventIndex,
): Promise<readonly Missing[]> {
  const { log, files } = keeper;
  if (log === undefined || files === undefined) return [missingOf(knownOf(keeper, index))];
  const listed = files.map(({ name, bytes, first_at_ms: firstAtMs }) => ({ name, bytes, firstAtMs }));
  index.list({ log, keeper: keeper.keeper, heardAtMs: keeper.heard_at_ms }, listed);
  const missing: Missing[] = [];
  for (const { name } of files) {
    const why = await readFile(client, path, { ...keeper, log }, name, index);
    if (why !== null) missing.push(missingOf({ ...keeper, told: 'some', why }));
  }
  return missing;
}

const missingOf = ({ keeper, heard_at_ms: heardAtMs, told, why }: Keeper): Missing => ({
  keeper,
  heardAtMs,
  told: told === 'all' ? 'some' : told,
  why: why ?? 'it did not say why',
});

/** Of a log that is gone the index may have what was read before. */
function knownOf(keeper: Keeper, index: EventIndex): Keeper {
  const isKnown = index.files().some(({ log, readTo }) => log === keeper.log && readTo > 0);
  return isKnown ? { ...keeper, told: 'some' } : keeper;
}

/** To the end of what it has now. Null: it is read; else why not. */
async function readFile(
  client: HttpClient,
  path: string,
  { log }: FollowedLog,
  name: string,
  index: EventIndex,
): Promise<string | null> {
  let tries = 0;
  for (;;) {
    const file = index.files().find((one) => one.log === log && one.name === name);
    if (file === undefined || file.readTo >= file.bytes) return null;
    const query = new URLSearchParams({ log, file: name, from: String(file.readTo) });
    const page = await askPage(client, `${path}?${query.toString()}`).catch(brokenPage);
    const answer = page?.keepers?.[0];
    if (answer?.why === fileGone) return `${name}: it was removed before it was read`;
    const isRead = page !== null && answer !== undefined && storePage(index, file, page, answer);
    if (isRead && answer.told === 'all') return null;
    tries = isRead ? 0 : tries + (answer?.why === isBusy ? 1 : brokenCosts);
    if (tries > mostTries) return `${name}: ${answer?.why ?? (page === null ? refused : brokenOff)}`;
    if (!isRead) await sleep(againMs);
  }
}

const brokenOff = 'its answers broke off';
const refused = 'the gateway refused to return it';

/** The gateway, or the process that it asked, ended meanwhile; another one may have its log. */
function brokenPage(thrown: unknown): Page {
  if (thrown instanceof CommandError) return { lines: [], keepers: null };
  throw thrown;
}

/** False: it went no further, or another command had read it. */
function storePage(index: EventIndex, file: IndexedFile, { lines }: Page, answer: Keeper): boolean {
  const { read_to: readTo, told } = answer;
  if (readTo === undefined) return false;
  const { log, name, readTo: fromByte } = file;
  const isAll = told === 'all';
  const isStored = index.store({ log, file: name, fromByte, readTo, isAll, lines });
  return isStored && (isAll || readTo > fromByte);
}

/** Files that were removed before they were read, and logs that the fleet has forgotten. */
function lostFiles(keepers: readonly Keeper[], index: EventIndex): readonly Missing[] {
  const span = index.span();
  const files = Map.groupBy(index.files(), ({ log }) => log);
  return index.logs().flatMap(({ log, keeper, heardAtMs }) => {
    const now = keepers.find((one) => one.log === log);
    const own = files.get(log) ?? [];
    const whys: string[] = [
      ...removedOf(own, now, span?.lastAtMs ?? 0),
      ...gapsOf(own, span?.sinceMs ?? null),
    ];
    if (now === undefined && span !== null && span.lastAtMs > heardAtMs)
      whys.push('it is gone, and the run went on after its log was last read');
    return whys.map((why) => ({ keeper, heardAtMs, told: 'some' as const, why }));
  });
}

/** What was listed once and is no longer there to be read, or may have grown before it was removed. */
function removedOf(
  files: readonly IndexedFile[],
  now: Keeper | undefined,
  runLastAtMs: number,
): readonly string[] {
  if (now?.files === undefined) return [];
  const there = new Set(now.files.map(({ name }) => name));
  return files.flatMap((file) => {
    const { name, readTo, bytes, listedAtMs } = file;
    if (there.has(name)) return [];
    if (readTo < bytes) return [`${name}: ${bytes - readTo} bytes were removed before they were read`];
    const mayHaveGrown = runLastAtMs > listedAtMs && isLastOf(files, file);
    return mayHaveGrown ? [`${name}: what was written after it was last read is removed`] : [];
  });
}

/** Its writer had no later file when it was last listed, so it may have written on. */
function isLastOf(files: readonly IndexedFile[], { name, listedAtMs }: IndexedFile): boolean {
  const own = parseFileName(name);
  return !files.some((other) => {
    const later = parseFileName(other.name);
    if (later === null || own === null || other.foundAtMs > listedAtMs) return false;
    return later.writer === own.writer && later.number > own.number;
  });
}

/** A writer numbers its files from 1 on: a number that was never seen was removed unseen. It matters only to a run that was open by then. */
function gapsOf(files: readonly IndexedFile[], runSinceMs: number | null): readonly string[] {
  const writers = Map.groupBy(files, ({ name }) => parseFileName(name)?.writer ?? '');
  return [...writers.values()].flatMap((own) => {
    const numbered = own.map((file) => ({ ...file, number: parseFileName(file.name)?.number ?? 0 }));
    return numbered
      .toSorted((one, other) => one.number - other.number)
      .flatMap((file, at, all) => {
        const unseen = file.number - (all[at - 1]?.number ?? 0) - 1;
        if (unseen <= 0 || runSinceMs === null || (file.firstAtMs ?? 0) < runSinceMs) return [];
        return [`${unseen} of its files before ${file.name} were removed before they were read`];
      });
  });
}
