import { describe, expect, it } from 'vitest';
import { runId, tenantId } from '../model/ids.ts';
import { formatKeyFile, parseKeyFile, createKeyRing } from './key-file.ts';
import type { ApiKey } from './keys.ts';

const sha256 = 'a'.repeat(64);
const key: ApiKey = {
  id: 'trainer',
  sha256,
  tenant: tenantId('acme'),
  scopes: ['rft:tools', 'rft:grade'],
  defaultRun: runId('nightly'),
  expiresAtMs: Date.parse('2027-01-01T00:00:00Z'),
};
const plain: ApiKey = { ...key, id: 'plain', defaultRun: null, expiresAtMs: null };

describe('a key file', () => {
  it('reads back what was written', () => {
    expect(parseKeyFile(formatKeyFile([key, plain]))).toEqual([key, plain]);
  });

  it('names every mistake at once', () => {
    const text = JSON.stringify({
      keys: [
        {
          id: 'Bad Id',
          sha256: 'short',
          tenant: '',
          scopes: ['root'],
          default_run: 'a b',
          expires_at: '2027-01-01',
        },
        { id: 'twice', sha256, tenant: 'acme', scopes: ['native'], color: 'red' },
        { id: 'twice', sha256, tenant: 'acme', scopes: [] },
        'a text',
      ],
    });
    const mistakes = mistakesOf(text);
    for (const part of [
      'keys[0].id must be',
      'keys[0].sha256 must be',
      'keys[0].scopes must be',
      'keys[0].default_run must be',
      'keys[0].expires_at must be',
      'keys[1].color is not a field',
      'keys[2].scopes must be',
      'keys[3] must be an object',
      '"twice" is used twice',
    ]) {
      expect(mistakes).toContain(part);
    }
  });

  it.each(['', '[]', '{"keys": {}}', '{'])('that is "%s" is refused with a sentence', (text) => {
    expect(mistakesOf(text)).toMatch(/it (is not JSON|must be a JSON object)/);
  });
});

describe('the key ring', () => {
  it('takes a changed file, and keeps the old keys when the new text is broken', async () => {
    let text = formatKeyFile([key]);
    const ring = await createKeyRing(() => Promise.resolve(text));
    expect(await ring.refresh()).toBe('unchanged');
    text = formatKeyFile([plain]);
    expect(await ring.refresh()).toBe('changed');
    expect(ring.keys()).toEqual([plain]);
    text = 'half a fi';
    await expect(ring.refresh()).rejects.toThrow(/not JSON/);
    expect(ring.keys()).toEqual([plain]);
  });

  it('does not start without good keys', async () => {
    await expect(createKeyRing(() => Promise.resolve('{}'))).rejects.toThrow(/"keys"/);
  });
});

function mistakesOf(text: string): string {
  try {
    parseKeyFile(text);
    return 'none';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
