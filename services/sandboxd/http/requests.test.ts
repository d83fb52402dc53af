import { describe, expect, it } from 'vitest';
import { maxKeptBytes } from '#src/protocol/sandboxd/wire.ts';
import {
  parseBind,
  parseCall,
  parseCallId,
  parseFilePlace,
  parseMostBytes,
  parsePrepare,
  parseUploadId,
  parseWaitMs,
} from './requests.ts';

const exec = { kind: 'exec', argv: ['true'] };
const call = { digest: 'd', action: exec, timeoutMs: 1000, keepBytes: 100 };

describe('parseCall', () => {
  it('takes an exec with all that it may say, and drops what it does not know', () => {
    const action = { ...exec, cwd: 'src', env: { A: '1' }, stdin: 'x', user: 'grader' };
    expect(parseCall({ ...call, action: { ...action, surprise: 1 } })).toEqual({ ...call, action });
    const bytes = { ...call, binary: true, action: { ...exec, stdin: { base64: 'AA==' } } };
    expect(parseCall(bytes)).toEqual(bytes);
  });

  it('takes a built-in tool with scalar arguments', () => {
    const action = {
      kind: 'builtin',
      tool: 'read_file',
      arguments: { path: 'a', start_line: 3, flag: true },
    };
    expect(parseCall({ ...call, action })).toEqual({ ...call, action });
  });

  it.each([
    [null, 'the body must be an object'],
    [[], 'the body must be an object'],
    [{ ...call, digest: 1 }, 'digest must be text'],
    [{ ...call, action: { kind: 'eval' } }, 'action.kind must be one of exec, builtin'],
    [{ ...call, action: { kind: 'exec', argv: [] } }, 'action.argv must be a program and its arguments'],
    [{ ...call, action: { kind: 'exec', argv: ['a', 1] } }, 'action.argv[1] must be text'],
    [{ ...call, action: { ...exec, env: { A: 1 } } }, 'action.env.A must be text'],
    [{ ...call, action: { ...exec, user: 'root' } }, 'action.user must be one of policy, grader'],
    [{ ...call, timeoutMs: 0 }, 'timeoutMs must be a whole number'],
    [{ ...call, timeoutMs: 1.5 }, 'timeoutMs must be a whole number'],
    [{ ...call, keepBytes: maxKeptBytes + 1 }, 'keepBytes must be a whole number'],
  ])('names the field of %j', (body, message) => {
    expect(() => parseCall(body)).toThrow(message);
  });
});

describe('the other requests', () => {
  it('take what wire.ts says', () => {
    const owner = { tenant: 't', run: 'r', rollout: 'x', attempt: 1, role: 'policy' };
    expect(parseBind({ protocol: 1, owner, expiresInMs: 5 })).toEqual({ protocol: 1, owner, expiresInMs: 5 });
    expect(parsePrepare({ commands: [['a', 'b']], timeoutMs: 5 })).toEqual({
      commands: [['a', 'b']],
      timeoutMs: 5,
    });
    expect(parseWaitMs(new URLSearchParams('waitMs=250'))).toBe(250);
    expect(parseWaitMs(new URLSearchParams())).toBe(0);
    const query = new URLSearchParams('path=a%2Fb&call=up%2F1&mostBytes=5');
    expect(parseFilePlace(query, 'archive')).toEqual({ path: 'a/b', user: 'policy', form: 'archive' });
    expect([parseUploadId(query), parseMostBytes(query)]).toEqual(['up/1', 5]);
    // An older gateway says neither.
    const none = new URLSearchParams();
    expect([parseUploadId(none), parseMostBytes(none)]).toEqual([null, Number.MAX_SAFE_INTEGER]);
    expect(parseCallId('call%2F1')).toBe('call/1');
  });

  it('refuse what it does not', () => {
    expect(() => parseBind({ protocol: 1, owner: {}, expiresInMs: 5 })).toThrow('owner.tenant must be text');
    expect(() => parsePrepare({ commands: ['ls'], timeoutMs: 5 })).toThrow('commands[0] must be a list');
    expect(() => parseWaitMs(new URLSearchParams('waitMs=soon'))).toThrow('waitMs');
    expect(() => parseFilePlace(new URLSearchParams('user=policy'), 'file')).toThrow('path must be text');
    expect(() => parseUploadId(new URLSearchParams('call='))).toThrow('call must be text');
    expect(() => parseCallId('%zz')).toThrow('the call id must be text');
    expect(() => parseCallId('x'.repeat(300))).toThrow('the call id must be text');
  });
});
