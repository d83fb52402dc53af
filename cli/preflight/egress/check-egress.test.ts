import { expect, test } from 'vitest';
import { egressOf, judgeEgress } from './check-egress.ts';

const targets = [
  { what: 'the API server', address: { host: '10.0.0.1', port: 6443 } },
  { what: 'another sandbox', address: { host: 'fd00::7', port: 8911 } },
];

test('a sandbox that nothing answers is closed, and what was tried is told', () => {
  const egress = egressOf(targets, ['silence', 'ENETUNREACH']);
  expect(judgeEgress(egress, 'none')).toEqual({
    ok: true,
    detail:
      'closed: the API server (10.0.0.1:6443) did not answer; another sandbox ([fd00::7]:8911) was not reached (ENETUNREACH) (network: none)',
  });
});

test.each(['connected', 'ECONNREFUSED', 'ECONNRESET'])(
  'one target that says %s makes it open, which is not in order without a network',
  (seen) => {
    const egress = egressOf(targets, ['silence', seen]);
    expect(egress.state).toBe('open');
    const { ok, detail } = judgeEgress(egress, 'none');
    expect(ok).toBe(false);
    expect(detail).toMatch(/^open: another sandbox .*does the cluster’s network plugin enforce/);
  },
);

test('what a network class of the operator’s reaches is told and in order', () => {
  const egress = egressOf(targets, ['silence', 'connected']);
  expect(judgeEgress(egress, 'mirrors')).toMatchObject({ ok: true, detail: expect.stringMatching(/^open:/) });
});

test('a sandbox that has nobody to reach is closed', () => {
  expect(judgeEgress(egressOf([], []), 'none').detail).toBe(
    'closed: it has no address but its own (network: none)',
  );
});
