import { assert, boolean, property, uint8Array } from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { sandboxId } from '../model/ids.ts';
import type { RolloutKey } from '../model/rollout.ts';
import { launchRoot, readTraceparent, rolloutRoot, writeTraceparent } from './names.ts';

test('the same name is the same trace in every process and version, and another kind of thing is another', () => {
  const key = 'lab/nightly/trace_1/1/policy';
  expect(rolloutRoot(key as RolloutKey)).toEqual({
    traceId: '15f91b7b5f7de819c048eb21a5cbf17d',
    spanId: 'dc07fc506adc5802',
  });
  const traces = [rolloutRoot(key as RolloutKey), launchRoot(sandboxId(key))];
  expect(new Set(traces.map(({ traceId }) => traceId)).size).toBe(2);
});

const hex = (length: number) =>
  uint8Array({ minLength: length, maxLength: length })
    .filter((bytes) => bytes.some((byte) => byte !== 0))
    .map((bytes) => Buffer.from(bytes).toString('hex'));

describe('traceparent', () => {
  const good = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

  it('is read as its ids, and whether its sender keeps the trace', () => {
    const ids = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
    expect(readTraceparent(good)).toEqual({ ...ids, sampled: true });
    expect(readTraceparent(good.replace(/01$/, '00'))).toEqual({ ...ids, sampled: false });
  });

  it.each([
    undefined,
    '',
    [good, good],
    `${good}-more`,
    ` ${good}`,
    `${good}\n`,
    good.toUpperCase(),
    good.replace('00-', '01-'),
    good.replace('00-', 'ff-'),
    good.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    good.replace('b7ad6b7169203331', '0'.repeat(16)),
    good.replace('b7ad', 'b7a'),
    good.replace('b7ad', 'b7ag'),
  ])('that is malformed is none: %s', (header) => {
    expect(readTraceparent(header)).toBeNull();
  });

  it('that we write is read again as what it was', () => {
    assert(
      property(hex(16), hex(8), boolean(), (traceId, spanId, sampled) => {
        const context = { traceId, spanId, sampled };
        expect(readTraceparent(writeTraceparent(context))).toEqual(context);
      }),
    );
  });
});
