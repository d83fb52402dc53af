import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Capture } from '#services/sandboxd/command/capture.ts';
import { aCallResult } from '#test/fakes/gateway-core.ts';
import { Failure } from '../failure/failure.ts';
import { type OpenOutput, restOfOutput } from './rest-of-output.ts';
import type { CallResult } from './work.ts';

const notElsewhere: OpenOutput = () => Promise.reject(new Error('nothing of it is elsewhere'));

/** A command that printed this to stdout, of which so much was kept. */
function printed(all: Buffer, keepBytes: number): CallResult {
  const capture = new Capture(keepBytes);
  capture.push(all);
  const { head, tail } = capture.taken();
  const base64 = { stdout: Buffer.concat([head, tail]).toString('base64'), stderr: '' };
  return aCallResult({ stdout: '', base64, totals: { stdout: all.length, stderr: 0 } });
}

/** What a reader has after it, and how many bytes were reported as missing. */
async function read(result: CallResult, from: number, open = notElsewhere) {
  const kept: { readonly at: number; readonly bytes: Buffer }[] = [];
  let lost = 0;
  let next = from;
  for await (const piece of restOfOutput(result, { stdout: from, stderr: 0 }, open)) {
    expect(piece.at).toBe(next);
    if (piece.kind === 'gap') lost += piece.bytes;
    else kept.push({ at: piece.at, bytes: Buffer.from(piece.base64, 'base64') });
    next += piece.kind === 'gap' ? piece.bytes : (kept.at(-1)?.bytes.length ?? 0);
  }
  return { kept, lost, next };
}

const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, at) => at % 251));

test('from any offset a reader gets each byte at its place, or a report that it is missing', async () => {
  const asked = fc.record({ length: fc.nat(300), keep: fc.nat(200), from: fc.nat(320) });
  await fc.assert(
    fc.asyncProperty(asked, async ({ length, keep, from }) => {
      const all = bytes(length);
      const { kept, lost, next } = await read(printed(all, keep), from);
      for (const { at, bytes: piece } of kept) expect(piece).toEqual(all.subarray(at, at + piece.length));
      expect(next).toBe(Math.max(from, length));
      const received = kept.reduce((sum, piece) => sum + piece.bytes.length, 0);
      expect(received + lost).toBe(Math.max(0, length - from));
      if (keep >= length) expect(lost).toBe(0);
    }),
  );
});

test('what the sandbox has kept comes from there, in its pieces', async () => {
  const all = bytes(200_000);
  const result = { ...printed(all, 100), kept: { stdout: 150_000, stderr: 0 } };
  const kept = Buffer.concat([all.subarray(0, 75_000), all.subarray(-75_000)]);
  const open: OpenOutput = async () =>
    (async function* () {
      yield kept.subarray(0, 70_001);
      yield kept.subarray(70_001);
    })();
  const { kept: pieces, lost } = await read(result, 60_000, open);
  expect(lost).toBe(50_000);
  expect(Math.max(...pieces.map((piece) => piece.bytes.length))).toBeLessThanOrEqual(65_536);
  for (const { at, bytes: piece } of pieces) expect(piece).toEqual(all.subarray(at, at + piece.length));
});

test('evicted output becomes a gap; a lost sandbox stays a failure', async () => {
  const result = { ...printed(bytes(1_000), 10), kept: { stdout: 500, stderr: 0 } };
  const gone = new Failure('answer_expired', 'it is no longer kept');
  expect(await read(result, 0, () => Promise.reject(gone))).toMatchObject({ lost: 990 });
  expect(await read(result, 0, () => Promise.resolve(null))).toMatchObject({ lost: 990 });
  const away = new Failure('sandboxd_unreachable', 'it is away');
  await expect(read(result, 0, () => Promise.reject(away))).rejects.toBe(away);
});

const endless: OpenOutput = async () =>
  (async function* () {
    for (;;) yield Buffer.alloc(300);
  })();

test('a sandbox that sends more than it has kept is read to what it has kept', async () => {
  const result = { ...printed(bytes(1_000), 100), kept: { stdout: 500, stderr: 0 } };
  const { kept, lost, next } = await read(result, 0, endless);
  expect([kept.reduce((sum, piece) => sum + piece.bytes.length, 0), lost, next]).toEqual([500, 500, 1_000]);
});

test('of a call that was not sent as bytes its texts come', async () => {
  const { kept } = await read(aCallResult({ stdout: 'hello\n' }), 1);
  expect(kept.map((piece) => piece.bytes.toString())).toEqual(['ello\n']);
});
