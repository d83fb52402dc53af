import { describe, expect, it } from 'vitest';
import { protocolVersion } from '#src/protocol/sandboxd/wire.ts';
import { Binding } from './binding.ts';

const owner = { tenant: 't', run: 'r', rollout: 'one', attempt: 1, role: 'policy' };
const request = { protocol: protocolVersion, owner, expiresInMs: 1000 };
const refusal = (code: string) => expect.objectContaining({ code });

describe('Binding', () => {
  it('keeps the first owner and refuses every other for life', () => {
    const binding = new Binding();
    expect(binding.bind(request, 0)).toBe(true);
    const other = { ...request, owner: { ...owner, rollout: 'two' } };
    expect(() => binding.bind(other, 1)).toThrow(refusal('bound_elsewhere'));
    expect(() => binding.bind({ ...request, owner: { ...owner, attempt: 2 } }, 1)).toThrow();
    expect(binding.owner).toEqual(owner);
  });

  it('answers the same owner again without moving the expiry', () => {
    const binding = new Binding();
    binding.bind(request, 0);
    expect(binding.bind({ ...request, expiresInMs: 9000 }, 400)).toBe(false);
    expect(binding.expiresInMs(400)).toBe(600);
  });

  it('accepts nothing once its time has passed', () => {
    const binding = new Binding();
    binding.bind(request, 0);
    binding.expire();
    expect(() => binding.bind(request, 2000)).toThrow(refusal('expired'));
    expect(() => binding.requireBound(undefined)).toThrow(refusal('expired'));
  });

  it('stays unbound after a bind in a protocol that it does not speak', () => {
    const binding = new Binding();
    const future = { ...request, protocol: protocolVersion + 1 };
    expect(() => binding.bind(future, 0)).toThrow(refusal('protocol_mismatch'));
    expect(binding.state).toBe('unbound');
    expect(() => binding.requireBound(undefined)).toThrow(refusal('not_bound'));
  });
});
