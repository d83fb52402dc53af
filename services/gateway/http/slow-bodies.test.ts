import { describe, expect, it } from 'vitest';
import { tenantId } from '#src/model/ids.ts';
import { chooseDropped, ComingBody, minBytesPerSecond, patienceMs } from './slow-bodies.ts';

const second = 1_000;

const body = () => new ComingBody(tenantId('acme'), false, 0);

describe('a body that comes', () => {
  it('is slow when its first byte takes longer than the patience', () => {
    expect(body().lateMs(patienceMs)).toBe(0);
    expect(body().lateMs(patienceMs + 1)).toBe(1);
  });

  it('is not slow at the minimum rate, however long it takes', () => {
    const coming = body();
    for (let nowMs = second; nowMs <= 3_600 * second; nowMs += second) {
      coming.came(minBytesPerSecond, nowMs);
      coming.awaits(nowMs);
      expect(coming.lateMs(nowMs + second)).toBeLessThanOrEqual(0);
    }
  });

  it('is slow below it', () => {
    const coming = body();
    for (let nowMs = second; nowMs <= 60 * second; nowMs += second) {
      coming.came(minBytesPerSecond / 2, nowMs);
      coming.awaits(nowMs);
    }
    expect(coming.lateMs(61 * second)).toBeGreaterThan(0);
  });

  it('that was fast and stalls has the patience, and no more', () => {
    const coming = body();
    coming.came(100 * 1024 * 1024, second);
    coming.awaits(second);
    expect(coming.lateMs(second + patienceMs)).toBe(0);
    expect(coming.lateMs(second + patienceMs + 1)).toBe(1);
  });

  it('is not charged for the time in which nothing of it was asked for', () => {
    const coming = body();
    coming.came(1, second);
    expect(coming.lateMs(600 * second)).toBe(0);
    coming.awaits(600 * second);
    expect(coming.lateMs(600 * second + patienceMs / 2)).toBeLessThanOrEqual(0);
  });
});

describe('which body makes room', () => {
  const [big, small, other] = ['big', 'small', 'other'].map(tenantId) as [
    ReturnType<typeof tenantId>,
    ReturnType<typeof tenantId>,
    ReturnType<typeof tenantId>,
  ];
  const nowMs = 100 * second;
  /** Late by so much. */
  const late = (tenant: typeof big, byMs: number, streamed = false) =>
    new ComingBody(tenant, streamed, nowMs - patienceMs - byMs);
  const shortage = (asking: typeof big, held: Readonly<Record<string, number>>) => ({
    asking,
    limit: 100,
    held: new Map(Object.entries(held).map(([name, count]) => [tenantId(name), count])),
  });

  const worst = late(big, 9);
  const slow = late(big, 5);
  const fine = late(big, 0);
  const ofSmall = late(small, 50);
  const upload = late(big, 70, true);

  it.each([
    ['the slowest of the tenant over its share', [slow, worst, fine], small, { big: 90, small: 10 }, worst],
    ['none that keeps the rate', [fine], small, { big: 100 }, null],
    ['none of a tenant within its share', [ofSmall], other, { big: 80, small: 20 }, null],
    ['none of another tenant at its share exactly', [slow], small, { big: 50, small: 50 }, null],
    [
      'a slow body of the tenant that asks, within its share or not',
      [slow, ofSmall],
      big,
      { big: 80, small: 20 },
      slow,
    ],
    [
      'a slow body of a tenant over its share before an own one that is slower',
      [ofSmall, worst],
      small,
      { big: 90, small: 10 },
      worst,
    ],
    ['the only tenant’s own, which no share holds back', [slow, fine], big, { big: 100 }, slow],
    ['a body that is kept before one that is passed on', [upload, slow], small, { big: 90, small: 10 }, slow],
    ['one that is passed on, if no other is slow', [upload, fine], small, { big: 90, small: 10 }, upload],
    ['nothing, where nothing comes', [], small, { big: 100 }, null],
  ] as const)('%s', (_name, bodies, asking, held, expected) => {
    expect(chooseDropped(bodies, shortage(asking, held), nowMs)).toBe(expected);
  });
});
