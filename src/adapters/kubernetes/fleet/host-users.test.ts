import { describe, expect, it } from 'vitest';
import type { PodSettings } from '#src/model/cluster.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { fakeNode } from '#test/fakes/pod-object.ts';
import { podRequest, podSettings } from '#test/fakes/pod-request.ts';
import { podFor } from '../pod/pod.ts';
import { type NodeView, nodeView } from '../truth/node-view.ts';
import { createHostUsers } from './host-users.ts';
import { createNodeBook } from './node-book.ts';

function setUp(hostUsers: PodSettings['hostUsers'], ...views: readonly NodeView[]) {
  const nodes = createNodeBook();
  nodes.listed(views);
  const log = createFakeLog();
  return { log, users: createHostUsers({ settings: podSettings({ hostUsers }), nodes, log }) };
}

const able = fakeNode();
const unable = fakeNode({ name: 'node-2', userNamespaces: false });

/** A pod as the API server gives it back. */
const made = (hostUsers?: boolean) => ({
  metadata: { name: 'pod', uid: 'uid-1', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: hostUsers === undefined ? {} : { hostUsers },
});

describe('host_users: auto', () => {
  it('asks for ids of their own where every node can give them', () => {
    const { users, log } = setUp('auto', able);
    expect(users.wants(podRequest())).toBe(true);
    expect(log.lines).toEqual([]);
  });

  it.each([
    [[able, unable], /node-2 does not say that it can/],
    [[], /not known yet/],
  ])('does not where one cannot, and tells once why', (views, reason) => {
    const { users, log } = setUp('auto', ...views);
    expect([users.wants(podRequest()), users.wants(podRequest())]).toEqual([false, false]);
    expect(log.lines).toHaveLength(1);
    expect(users.limitations()).toEqual([expect.stringMatching(reason)]);
  });

  it('leaves a runtime class alone, which has its own way', () => {
    const { users } = setUp('auto', able);
    const placement = { ...podRequest().template.placement, runtimeClass: 'gvisor' };
    expect(users.wants(podRequest({ placement }))).toBe(false);
  });

  it('uses a pod of an old API server that dropped the field, and tells it once', () => {
    const { users, log } = setUp('auto', able);
    expect([users.mayUse(made(), podRequest()), users.mayUse(made(), podRequest())]).toEqual([true, true]);
    expect(log.lines).toHaveLength(1);
    expect(users.limitations()).toEqual([expect.stringMatching(/dropped hostUsers/)]);
  });
});

describe('host_users: auto with run_as: root', () => {
  const root = podRequest({ runAs: 'root' });

  it('uses no pod of an old API server that dropped the field, because it has a container’s rights, and does not ask again', () => {
    const { users } = setUp('auto', able);
    expect(users.wants(root)).toBe(true);
    expect(users.mayUse(made(), root)).toBe(false);
    expect([users.wants(root), users.wants(podRequest())]).toEqual([false, true]);
  });

  it('uses one with ids of its own', () => {
    expect(setUp('auto', able).users.mayUse(made(false), root)).toBe(true);
  });
});

describe('host_users: require', () => {
  it('asks for them whatever the nodes say, and uses no pod without', () => {
    const { users } = setUp('require', unable);
    expect(users.wants(podRequest())).toBe(true);
    const mayUse = (hostUsers?: boolean) => users.mayUse(made(hostUsers), podRequest());
    expect([mayUse(false), mayUse(true), mayUse()]).toEqual([true, false, false]);
  });
});

it('host_users: off never asks for them', () => {
  expect(setUp('off', able).users.wants(podRequest())).toBe(false);
});

it('a pod names the field only where it is to be false: an unset one is no wish', () => {
  expect(podFor(podRequest(), podSettings(), true).spec).toMatchObject({ hostUsers: false });
  expect(podFor(podRequest(), podSettings(), false).spec).not.toHaveProperty('hostUsers');
});

it.each([
  [undefined, false],
  [[{ name: 'runc', features: { userNamespaces: true } }], false],
  [[{ features: { recursiveReadOnlyMounts: true } }], false],
  [
    [
      { name: '', features: { userNamespaces: true } },
      { name: 'other', features: null },
    ],
    true,
  ],
])('of a node only its default runtime’s own word counts: %j', (runtimeHandlers, userNamespaces) => {
  const node = { metadata: { name: 'node-1' }, status: { runtimeHandlers } };
  expect(nodeView(node)).toMatchObject({ userNamespaces });
});
