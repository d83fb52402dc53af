import { expect, test } from 'vitest';
import type { SandboxCost } from '../ports/fleet/reports.ts';
import { idleShare } from './idle-share.ts';

const spent = (state: SandboxCost['state'], ms: number): SandboxCost => ({ environment: 'shell', state, ms });

test('what starts and what waits for a rollout is idle, whatever became of the rest', () => {
  const costs = [spent('starting', 10), spent('ready', 20), spent('scored', 30), spent('discarded', 20)];
  expect(idleShare([...costs, spent('ungraded', 20)])).toBe(0.3);
});

test('a fleet that has spent nothing has no share', () => {
  expect(idleShare([])).toBeNull();
  expect(idleShare([spent('ready', 0)])).toBeNull();
});
