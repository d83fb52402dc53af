import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bootHeader, sandboxHeader } from '#src/protocol/sandboxd/wire.ts';
import { letIn } from './gate.ts';

const keeper = {
  sandbox: 's-1',
  boot: 'b-1',
  tokenSha256: createHash('sha256').update('secret').digest('hex'),
};
const headers = { [sandboxHeader]: 's-1', [bootHeader]: 'b-1', authorization: 'Bearer secret' };
const refusal = (code: string) => expect.objectContaining({ code });

describe('letIn', () => {
  it('lets in who names us, our life and our token', () => {
    expect(() => letIn(headers, keeper, 'epoch')).not.toThrow();
  });

  it('says who lives here before it looks at a token that was meant for another', () => {
    const meantForAnother = { ...headers, [sandboxHeader]: 's-2', authorization: 'Bearer other' };
    expect(() => letIn(meantForAnother, keeper, 'epoch')).toThrow(refusal('other_sandbox'));
  });

  const pages = `Bearer ${'secret'.repeat(100)}`;
  it.each([
    undefined,
    'Bearer ',
    'Bearer wrong',
    'Bearer secret2',
    'Bearer secre',
    'Basic secret',
    'secret',
    pages,
  ])('refuses the key %s', (key) => {
    expect(() => letIn({ ...headers, authorization: key }, keeper, 'epoch')).toThrow(refusal('unauthorized'));
  });

  it('refuses a caller who knew an earlier life, also where naming one is optional', () => {
    const earlier = { ...headers, [bootHeader]: 'b-0' };
    expect(() => letIn(earlier, keeper, 'epoch')).toThrow(refusal('other_boot'));
    expect(() => letIn(earlier, keeper, 'token')).toThrow(refusal('other_boot'));
  });

  it('needs no life where it is being learnt, and nothing at all for health', () => {
    const { [bootHeader]: _, ...learning } = headers;
    expect(() => letIn(learning, keeper, 'token')).not.toThrow();
    expect(() => letIn(learning, keeper, 'epoch')).toThrow(refusal('invalid_request'));
    expect(() => letIn({}, keeper, 'open')).not.toThrow();
  });
});
