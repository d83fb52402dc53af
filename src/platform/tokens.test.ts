import { expect, test } from 'vitest';
import { createFakeRandom } from '#test/fakes/random.ts';
import { createPeerTokens, createSandboxTokens, sandboxToken, tokenSha256 } from './tokens.ts';

const older = 'aa'.repeat(32);
const newer = 'bb'.repeat(32);

test('a token depends on the fleet key and on the sandbox', () => {
  const tokens = createSandboxTokens({ current: older, other: null });
  const random = createFakeRandom();
  const one = tokens.newSandbox(random);
  const other = tokens.newSandbox(random);
  expect(tokens.tokenOf(one)).toBe(sandboxToken(older, one));
  expect(new Set([sandboxToken(older, one), sandboxToken(newer, one), sandboxToken(older, other)]).size).toBe(
    3,
  );
});

test('while keys are rotated, old sandboxes keep their token and new ones get the new key', () => {
  const random = createFakeRandom();
  const before = createSandboxTokens({ current: older, other: null });
  const during = createSandboxTokens({ current: newer, other: older });
  const old = before.newSandbox(random);
  const fresh = during.newSandbox(random);
  expect(during.tokenOf(old)).toBe(before.tokenOf(old));
  expect(during.tokenOf(fresh)).toBe(sandboxToken(newer, fresh));
});

test('ids fit into host names and socket paths', () => {
  const sandbox = createSandboxTokens({ current: older, other: null }).newSandbox(createFakeRandom());
  expect(sandbox).toMatch(/^s[0-9a-f]{4}-[0-9a-z]{13}$/);
});

test('a sandbox is given only the sha256 of its token', () => {
  expect(tokenSha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('a process proves one statement and no other, by each key that the other may have', () => {
  const before = createPeerTokens({ current: older, other: null });
  const during = createPeerTokens({ current: newer, other: older });
  const token = before.peerToken('asks for a');
  expect([before, during].map((tokens) => tokens.isPeerToken('asks for a', token))).toEqual([true, true]);
  expect(before.isPeerToken('asks for b', token)).toBe(false);
  expect(before.isPeerToken('asks for a', '')).toBe(false);
  expect(createPeerTokens({ current: newer, other: null }).isPeerToken('asks for a', token)).toBe(false);
});
