import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Json } from '#src/model/grader.ts';
import type { Outcome } from '#src/model/outcome.ts';
import { type Owner, ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import {
  type KeepCallText,
  type KeepRollout,
  type KeptArtifacts,
  mostKeptCharacters,
} from '#src/ports/kept-rollouts.ts';
import { parseJson, splitLines } from './event-lines.ts';
import type { EventLogOptions } from './event-log.ts';
import { encodeLine, gather, type Gathered } from './gather.ts';
import { bytesIn, createFolderWriter, makeRoom, parseFileName } from './log-folder.ts';

/** Below the event log's folder: whoever searches that does not come here, of this version or of another. */
export const keptFolder = (eventFolder: string): string => join(eventFolder, 'kept');

/** Call texts lie in a folder of their own below it, so that they never displace a graded rollout. */
const textsFolder = (kept: string): string => join(kept, 'calls');

const mebibyte = 1024 * 1024;
/** 500 rollouts that are graded in the same second have some 25 MB, without artifacts; of the largest of these, four find room. */
const rolloutBufferBytes = 48 * mebibyte;
/** A second of 2,000 calls. */
const textBufferBytes = 16 * mebibyte;
/** More than a kept rollout may have. */
const longestLine = 8 * mebibyte + mostKeptCharacters;

type KeptLogOptions = Omit<EventLogOptions, 'folder' | 'stdout' | 'maxFileBytes' | 'maxBufferedBytes'> & {
  /** Of the event log; null: nothing is kept there. */
  readonly folder: string | null;
  /** Gets every line with its newline, too; default: it is kept in the folder alone. */
  readonly also?: (line: Buffer, key: RolloutKey) => void;
};

/** Earlier releases wrote call texts between graded rollouts, in the same files. */
const callTextKind = 'call_text';
const callTextStart = `{"kind":"${callTextKind}"`;

/**
 * Kept rollouts and call texts as JSONL, in files that rotate as the event log's do, with as many bytes and days of their own. Texts take
 * at most half of the bytes, and graded rollouts the rest.
 */
export function createKeptLog(given: KeptLogOptions): {
  readonly keep: KeepRollout;
  readonly keepText: KeepCallText;
  readonly flush: () => Promise<void>;
} {
  const { folder, also = () => undefined } = given;
  const files = folder === null ? null : filesIn(folder, given);
  const add = (to: Gathered | undefined, text: string, key: RolloutKey): void => {
    const line = encodeLine(text);
    to?.add(line, key);
    also(line, key);
  };
  return {
    keep: ({ document, artifacts, ...told }) => {
      const taken = artifacts === undefined ? '' : `,"artifacts":${artifacts}`;
      const text = `${JSON.stringify(told).slice(0, -1)}${taken},"rollout":${document}}`;
      add(files?.rollouts, text, told.key);
    },
    keepText: (text) => add(files?.texts, JSON.stringify({ kind: callTextKind, ...text }), text.key),
    flush: async () => void (await Promise.all([files?.rollouts.flush(), files?.texts.flush()])),
  };
}

function filesIn(folder: string, given: KeptLogOptions) {
  const { maxBytes = Number.POSITIVE_INFINITY, keepDays = 14, clock, log, onDropped } = given;
  const { rollouts, texts } = sharesOf({ ...given, keepDays }, keptFolder(folder), maxBytes);
  const gathered = (where: Parameters<typeof createFolderWriter>[0], maxBufferedBytes: number) =>
    gather(createFolderWriter(where), { clock, log, onDropped, maxBufferedBytes });
  return { rollouts: gathered(rollouts, rolloutBufferBytes), texts: gathered(texts, textBufferBytes) };
}

type WriterOptions = Omit<Parameters<typeof createFolderWriter>[0], 'folder' | 'maxFileBytes' | 'keepBytes'>;

/** Each makes room in both before a file of its own, because texts grow where rollouts had bytes to spare. */
function sharesOf(given: WriterOptions, kept: string, maxBytes: number) {
  const maxFileBytes = Math.min(256 * mebibyte, Math.floor(maxBytes / 8));
  const texts = { ...given, folder: textsFolder(kept), keepBytes: maxBytes / 2 - maxFileBytes };
  const makeRoomInBoth = async (): Promise<void> => {
    await mkdir(texts.folder, { recursive: true });
    await makeRoom(texts);
    const keepBytes = maxBytes - 2 * maxFileBytes - (await bytesIn(texts.folder));
    await makeRoom({ ...given, folder: kept, keepBytes });
  };
  const common = { maxFileBytes, makeRoom: makeRoomInBoth };
  return {
    rollouts: { ...given, ...common, folder: kept, keepBytes: maxBytes },
    texts: { ...texts, ...common },
  };
}

const outcomes = [
  'completed',
  'timed_out',
  'refused',
  'infrastructure_failure',
  'cancelled',
] satisfies Outcome[];
/** Tenant, run, rollout, attempt and role, each without a slash. */
const keyPattern = '^[^/]+/[^/]+/[^/]+/[0-9]+/policy$';
const nullable = Type.Union([Type.Number(), Type.Null()]);
const words = Type.Union([Type.String(), Type.Null()]);

const KeptCall = Type.Object({
  id: Type.String(),
  tool: Type.String(),
  arguments: Type.Union([Type.Record(Type.String(), Type.Unsafe<Json>({})), Type.Null()]),
  arguments_text: Type.Optional(Type.String()),
  arguments_bytes: Type.Number(),
  output: words,
  output_end: Type.Optional(Type.String()),
  output_characters: Type.Number(),
  outcome: Type.Unsafe<Outcome | null>({ enum: [...outcomes, null] }),
  code: words,
  exit_code: nullable,
  started_at_ms: Type.Number(),
  ended_at_ms: nullable,
  waited_ms: Type.Number(),
  duration_ms: nullable,
  output_bytes: Type.Number(),
});

const Artifacts = Type.Unsafe<KeptArtifacts>(
  Type.Union([
    Type.Object({
      kind: Type.Literal('taken'),
      names: Type.Array(Type.String()),
      files: Type.Array(
        Type.Object({
          path: Type.String(),
          executable: Type.Boolean(),
          mtime_s: Type.Number(),
          base64: Type.String(),
        }),
      ),
      changes: Type.Optional(
        Type.Object({
          removed: Type.Array(Type.String()),
          written: Type.Array(
            Type.Object({
              path: Type.String(),
              kind: Type.Union([Type.Literal('file'), Type.Literal('folder'), Type.Literal('link')]),
              mode: Type.Integer(),
              mtime_s: Type.Number(),
              base64: Type.Optional(Type.String()),
              target: Type.Optional(Type.String()),
            }),
          ),
        }),
      ),
    }),
    Type.Object({ kind: Type.Literal('none'), reason: Type.String() }),
  ]),
);

const KeptLine = Type.Object({
  atMs: Type.Number(),
  key: Type.Unsafe<RolloutKey>({ type: 'string', pattern: keyPattern }),
  environment: Type.String(),
  version: Type.String(),
  item: Type.Union([Type.Record(Type.String(), Type.Unsafe<Json>({})), Type.Null()]),
  score: Type.Number(),
  toolCalls: Type.Number(),
  /** Lines of older versions do not have it. */
  backgroundMs: Type.Optional(Type.Number()),
  artifacts: Type.Optional(Artifacts),
  amounts: Type.Optional(
    Type.Object({
      memoryBytes: Type.Optional(Type.Integer()),
      cpuMilli: Type.Optional(Type.Integer()),
      diskBytes: Type.Optional(Type.Integer()),
      shmBytes: Type.Optional(Type.Integer()),
    }),
  ),
  rollout: Type.Object({
    rollout: Type.String(),
    sample: Type.Record(Type.String(), Type.Unsafe<Json>({})),
    calls: Type.Array(KeptCall),
    missing: Type.Object({ arguments: Type.Number(), outputs: Type.Number() }),
  }),
});

/** A kept rollout as it was written. */
export type KeptLine = Static<typeof KeptLine>;
export type KeptCall = Static<typeof KeptCall>;

const check = Compile(KeptLine);

/** Graded rollouts among kept lines, in no order; a line that a crash cut off is skipped. */
export async function* readKept(lines: AsyncIterable<string>): AsyncGenerator<KeptLine> {
  for await (const line of lines) {
    if (line.startsWith(callTextStart)) continue;
    const kept = parseJson(line);
    if (check.Check(kept)) yield kept;
  }
}

/** The lines that are kept in a folder: those of graded rollouts, or call texts first. */
export async function* keptLines(folder: string, withTexts = false): AsyncGenerator<string> {
  const texts = textsFolder(folder);
  if (withTexts && existsSync(texts)) yield* linesIn(texts);
  yield* linesIn(folder);
}

async function* linesIn(folder: string): AsyncGenerator<string> {
  const names = (await readdir(folder)).filter((name) => parseFileName(name) !== null);
  for (const name of names.toSorted()) {
    const bytes = createReadStream(join(folder, name)) as AsyncIterable<Uint8Array>;
    yield* splitLines(bytes, longestLine);
  }
}

const Text = Type.Union([Type.Object({ text: Type.String(), whole: Type.Number() }), Type.Null()]);
const CallTextLine = Type.Object({
  kind: Type.Literal(callTextKind),
  atMs: Type.Number(),
  key: Type.Unsafe<RolloutKey>({ type: 'string', pattern: keyPattern }),
  call: Type.String(),
  tool: Type.String(),
  arguments: Text,
  output: Text,
});
const textCheck = Compile(CallTextLine);

/** What one call asked for and returned, as far as it was kept. */
export type CallText = Pick<Static<typeof CallTextLine>, 'key' | 'call' | 'tool' | 'arguments' | 'output'>;

/** Call texts of these rollouts, in no order: from their own lines, and from those of graded rollouts. `mark`: in every line of one. */
export async function* readCallTexts(
  lines: AsyncIterable<string>,
  mark: string,
  isWanted: (owner: Owner) => boolean,
): AsyncGenerator<CallText> {
  for await (const line of lines) {
    if (!line.includes(mark)) continue;
    const kept = parseJson(line);
    if (textCheck.Check(kept) && isWanted(ownerOf(kept.key))) yield kept;
    if (check.Check(kept) && isWanted(ownerOf(kept.key))) yield* textsOfKept(kept);
  }
}

function* textsOfKept({ key, rollout: { calls } }: KeptLine): Generator<CallText> {
  for (const { id: call, tool, output, ...kept } of calls) {
    const asked = kept.arguments_text ?? JSON.stringify(kept.arguments);
    const said = output === null ? null : output + (kept.output_end ?? '');
    yield {
      key,
      call,
      tool,
      arguments: { text: asked, whole: kept.arguments_bytes },
      output: said === null ? null : { text: said, whole: kept.output_characters },
    };
  }
}
