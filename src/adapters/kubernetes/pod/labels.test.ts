import { describe, expect, it } from 'vitest';
import { rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import type { Owner } from '#src/model/rollout.ts';
import { podRequest } from '#test/fakes/pod-request.ts';
import { createdMarks, fleetSelector, ownerPatch, podName, readMarks } from './labels.ts';

const owner: Owner = {
  tenant: tenantId('acme'),
  run: runId('run/7'),
  rollout: rolloutId('trace_é'),
  attempt: 2,
  role: 'policy',
};
const { sandbox, template } = podRequest();
const expiresAtMs = Date.parse('2026-03-01T12:00:00.000Z');

describe('the marks of a pod', () => {
  it('name fleet and template from the start, in labels that a selector takes', () => {
    const { labels, annotations } = createdMarks('test', sandbox, template);
    for (const value of Object.values(labels))
      expect(value).toMatch(/^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/);
    for (const part of fleetSelector('test').split(',')) {
      const [key = '', value] = part.split('=');
      expect(labels).toHaveProperty([key], value);
    }
    expect(readMarks({ labels, annotations })).toEqual({
      sandbox,
      template: template.digest,
      owner: null,
      expiresAtMs: null,
    });
  });

  it("tell owner and expiry after the patch, whatever the trainer's ids look like", () => {
    const { annotations } = createdMarks('test', sandbox, template);
    const patch = ownerPatch(owner, expiresAtMs, expiresAtMs - 3_600_000);
    const patched = { annotations: { ...annotations, ...patch.metadata.annotations } };
    expect(readMarks(patched)).toMatchObject({ sandbox, owner, expiresAtMs });
  });

  it("of somebody else's pod are none, and an owner that nobody can read is no owner", () => {
    expect(readMarks({ labels: { 'corral.dev/fleet': 'test' } })).toBeNull();
    const { annotations } = createdMarks('test', sandbox, template);
    const scribbled = { ...annotations, 'corral.dev/owner': 'me', 'corral.dev/expires': 'soon' };
    expect(readMarks({ annotations: scribbled })).toMatchObject({ owner: null, expiresAtMs: null });
  });
});

describe('ownerPatch', () => {
  it('keeps autoscalers away from what they might move until then', () => {
    const key = 'cluster-autoscaler.kubernetes.io/safe-to-evict';
    expect(createdMarks('test', sandbox, template).annotations).toMatchObject({ [key]: 'true' });
    const patch = ownerPatch(owner, expiresAtMs, 0);
    expect(patch.metadata.annotations).toMatchObject({
      [key]: 'false',
      'karpenter.sh/do-not-disrupt': 'true',
    });
  });

  it("counts the kubelet's deadline from the pod's start, half a minute after sandboxd's own", () => {
    const startedLongAgoMs = expiresAtMs - 10 * 3_600_000;
    expect(ownerPatch(owner, expiresAtMs, startedLongAgoMs).spec.activeDeadlineSeconds).toBe(36_030);
  });

  it('gives a pod whose time has passed the shortest deadline there is', () => {
    expect(ownerPatch(owner, expiresAtMs, expiresAtMs + 60_000).spec.activeDeadlineSeconds).toBe(1);
  });
});

it('is the id of our own sandboxes, so that people find one by the other', () => {
  expect(podName(sandboxId('s0a1b-0123456789abc'))).toBe('s0a1b-0123456789abc');
});

it.each(['With-Capitals', 'ends-with-', 'x'.repeat(80), 'under_score'])(
  'is a name that Kubernetes takes, and no other id has, for %s',
  (id) => {
    const name = podName(sandboxId(id));
    expect(name).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
    expect(name).not.toBe(podName(sandboxId(id.toLowerCase() + 'a')));
  },
);
