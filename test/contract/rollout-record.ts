import { expect } from 'vitest';
import { rolloutKey } from '#src/model/rollout.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';

/** What holds between the fields of a record, whoever made it. */
export function expectTrueRecord(record: RolloutRecord): void {
  const { state, epoch, verdict, discarded } = record;
  expect(record.key).toBe(rolloutKey(record.owner));
  // It has a sandbox from its claim on, and one that was there stays in the record.
  const hasSandbox = state === 'claimed' || state === 'active' || state === 'grading';
  if (hasSandbox) expect(epoch).not.toBeNull();
  if (state === 'waiting') expect(epoch).toBeNull();
  for (const field of [record.address, record.launchType, record.claimedAtMs]) {
    expect(field === null).toBe(epoch === null);
  }
  if (state === 'active' || state === 'grading') expect(record.activeAtMs).not.toBeNull();
  const isOver = state === 'closed' || state === 'expired';
  expect(record.closedBy !== null).toBe(isOver);
  expect(record.closedAtMs !== null).toBe(isOver);
  expect(discarded !== null).toBe(verdict === 'discarded');
  expect(record.score !== null).toBe(verdict === 'scored');
  if (verdict === 'broken') expect(record.broken).not.toBeNull();
  if (discarded !== null) expect(record.barred).toBe(discarded.code);
  // It heals in line or in a sandbox that is not active yet, and nothing else has become of it.
  if (record.healing !== null) {
    expect(record.heals).toBeGreaterThan(0);
    expect(['waiting', 'claimed']).toContain(state);
    expect([verdict, record.barred]).toEqual(['open', null]);
  }
}
