import { describe, expect, it } from 'vitest';
import { podRequest, podSettings } from '#test/fakes/pod-request.ts';
import { podFor } from './pod.ts';

type Given = Parameters<typeof podRequest>[0];

function securityOf(given: Given, settings = podSettings(), ownIds = false) {
  const spec = podFor(podRequest(given), settings, ownIds).spec;
  return { pod: spec?.securityContext, container: spec?.containers[0]?.securityContext, spec };
}

describe('what a sandbox may', () => {
  it('is to switch ids and stop processes of others, and nothing else: Pod Security baseline', () => {
    const { container, pod } = securityOf({});
    expect(container).toEqual({
      allowPrivilegeEscalation: false,
      runAsUser: 0,
      runAsGroup: 0,
      capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID', 'KILL'] },
    });
    expect(pod).toMatchObject({ seccompProfile: { type: 'RuntimeDefault' } });
  });

  it('is nothing at all with one id: Pod Security restricted', () => {
    const { container } = securityOf({ uid: 'single' });
    expect(container).toEqual({
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      capabilities: { drop: ['ALL'] },
    });
  });

  it.each([
    ['root with ids of its own: a container’s rights', { runAs: 'root' }, true, 12],
    ['root without: what sandboxd needs', { runAs: 'root' }, false, 3],
    ['an ordinary user with ids of its own: the same', {}, true, 3],
  ] as const)('%s', (_, given, ownIds, count) => {
    const { add } = securityOf(given, podSettings(), ownIds).container?.capabilities ?? {};
    expect(add).toHaveLength(count);
    expect(add?.includes('CHOWN')).toBe(count === 12);
    expect(add).not.toContain('NET_RAW');
  });

  it("follows the operator's one id also where the template asks for two", () => {
    const { container } = securityOf({}, podSettings({ singleUid: true }));
    expect(container).toMatchObject({ runAsNonRoot: true });
  });

  it('refuses root where the operator allows one ordinary id only', () => {
    expect(() => securityOf({ runAs: 'root' }, podSettings({ singleUid: true }))).toThrow(
      /run_as: root is not offered by this fleet/,
    );
  });

  it('leaves the pause process its own id, which the policy cannot signal', () => {
    expect(securityOf({}).pod).not.toHaveProperty('runAsUser');
    expect(securityOf({ uid: 'single' }).pod).not.toHaveProperty('runAsUser');
  });

  it("does not reach the API server: no token, no service's variables", () => {
    expect(securityOf({}).spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
    });
  });
});
