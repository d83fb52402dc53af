import { describe, expect, it } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import { anyPlace, type Template } from '#src/model/environment.ts';
import { testTemplate } from '#test/support/sandboxes.ts';
import { checkRequest } from './check-request.ts';

const check = (changes: Partial<Template>, socketPath = '/state/run/d.sock') =>
  checkRequest(
    { sandbox: sandboxId('s-1'), template: testTemplate(changes), tokenSha256: 'a'.repeat(64) },
    socketPath,
  );

describe('what can never start here', () => {
  it.each([
    ['an image', { image: { kind: 'image', reference: 'debian:12' } }, 'debian:12'],
    ['a stronger wall', { placement: { ...anyPlace, runtimeClass: 'gvisor' } }, 'gvisor'],
    ['a network', { network: 'proxy' }, '"proxy"'],
    ['data over /proc', { data: [{ source: '/d', target: '/proc/x' }] }, '/proc/x'],
    ['data over the payload', { data: [{ source: '/d', target: '/opt/corral' }] }, '/opt/corral'],
    ['data over the whole workspace', { data: [{ source: '/d', target: '/workspace' }] }, '/workspace'],
    ['data at a path that climbs', { data: [{ source: '/d', target: '/data/../proc' }] }, '/data/../proc'],
  ] as const)('%s is refused with a sentence that names it', (_, changes, named) => {
    expect(() => check(changes)).toThrow(expect.objectContaining({ code: 'start_failed' }));
    expect(() => check(changes)).toThrow(named);
  });

  it('a socket path that the kernel would cut is refused', () => {
    expect(() => check({}, `/${'x'.repeat(107)}`)).toThrow('CORRAL_NODE_STATE_DIR');
    expect(() => check({}, `/${'x'.repeat(106)}`)).not.toThrow();
  });

  it('data inside the workspace is allowed', () => {
    expect(() => check({ data: [{ source: '/d', target: '/workspace/repo' }] })).not.toThrow();
  });
});
