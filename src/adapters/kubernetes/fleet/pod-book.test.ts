import { expect, test } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import { fakeNode } from '#test/fakes/pod-object.ts';
import { fakePodView, startingView } from '#test/fakes/pod-view.ts';
import type { NodeView } from '../truth/node-view.ts';
import { createPodBook } from './pod-book.ts';

const kinds = (events: readonly ProviderEvent[]) => events.map(({ kind }) => kind);
const failed = fakePodView({ phase: 'gone', address: null, ending: { cause: 'evicted', evidence: {} } });

function book() {
  const node: { -readonly [Field in keyof NodeView]: NodeView[Field] } = { ...fakeNode() };
  return { node, book: createPodBook(() => node) };
}

test('a pod is told once when it runs and once when it ends, also when its object goes later', () => {
  const { book: pods } = book();
  expect(pods.changed(startingView())).toEqual([]);
  expect(kinds(pods.changed(fakePodView()))).toEqual(['running']);
  expect(pods.changed(fakePodView())).toEqual([]);
  expect(pods.changed(failed)).toMatchObject([{ kind: 'gone', cause: 'evicted' }]);
  expect(pods.changed(failed)).toEqual([]);
  expect(pods.deleted(failed)).toEqual([]);
  expect(pods.all()).toEqual([]);
});

test('a list tells ends first, those that were missed too, then everything, and what runs only in it', () => {
  const { book: pods } = book();
  pods.changed(fakePodView({ sandbox: sandboxId('missed') }));
  const events = pods.listed([fakePodView({ sandbox: sandboxId('new') }), failed]);
  expect(events).toMatchObject([
    { kind: 'gone', sandbox: 'missed', cause: 'deleted' },
    { kind: 'gone', sandbox: 'sandbox-1', cause: 'evicted' },
    { kind: 'listed', sandboxes: [{ sandbox: 'new' }] },
  ]);
});

test('another uid under the name means that the first pod was replaced, and the second is never used', () => {
  const { book: pods } = book();
  pods.changed(fakePodView());
  const events = pods.changed(fakePodView({ uid: 'uid-2' }));
  expect(events).toMatchObject([
    { kind: 'gone', cause: 'pod_replaced', evidence: { replacedByUid: 'uid-2' } },
  ]);
  expect(pods.changed(fakePodView({ uid: 'uid-2' }))).toEqual([]);
  expect(pods.get(sandboxId('sandbox-1'))?.phase).toBe('gone');
});

test('the late end of a replaced pod says nothing of the pod that replaced it', () => {
  const { book: pods } = book();
  pods.changed(fakePodView({ uid: 'uid-2' }));
  expect(pods.deleted(fakePodView({ uid: 'uid-1' }))).toEqual([]);
  expect(pods.get(sandboxId('sandbox-1'))).not.toBeNull();
});

test('a running sandbox is doubted while its node is not ready, once, and not when it has not begun to run', () => {
  const { book: pods, node } = book();
  pods.changed(fakePodView());
  pods.changed(startingView({ sandbox: sandboxId('starting') }));
  node.ready = false;
  node.why = 'NodeStatusUnknown';
  expect(pods.nodeChanged('node-1').filter(({ kind }) => kind !== 'leaving')).toMatchObject([
    {
      kind: 'doubted',
      sandbox: 'sandbox-1',
      cause: 'node_lost',
      evidence: { nodeSays: 'NodeStatusUnknown' },
    },
  ]);
  expect(pods.changed(fakePodView())).toEqual([]);
  node.ready = true;
  expect(kinds(pods.nodeChanged('node-1'))).toEqual(['trusted']);
  expect(pods.nodeChanged('node-1')).toEqual([]);
});

test('a sandbox lost with its node is marked, unless the machine was shut down in order', () => {
  const { book: pods, node } = book();
  pods.changed(fakePodView());
  node.ready = false;
  const lost = { kind: 'doubted', cause: 'node_lost' };
  expect(pods.nodeChanged('node-1')).toContainEqual(
    expect.objectContaining({ ...lost, evidence: expect.objectContaining({ suspected: 'command' }) }),
  );
  node.shutDownBy = 'cloud provider';
  const ended = fakePodView({ phase: 'gone', address: null, ending: { cause: 'node_lost', evidence: {} } });
  expect(pods.changed(ended)).toEqual([
    {
      kind: 'gone',
      sandbox: 'sandbox-1',
      cause: 'node_lost',
      evidence: { nodeShutDownBy: 'cloud provider' },
    },
  ]);
});

test('a pod that somebody marked for deletion is doubted with the reason; on a dead node the node is the reason', () => {
  const { book: pods, node } = book();
  pods.changed(fakePodView());
  expect(pods.changed(fakePodView({ marked: 'evicted' }))).toMatchObject([
    { kind: 'leaving', why: 'its pod is marked for deletion' },
    { kind: 'doubted', cause: 'evicted' },
  ]);
  pods.changed(fakePodView({ sandbox: sandboxId('other') }));
  node.ready = false;
  const marked = fakePodView({ sandbox: sandboxId('other'), marked: 'deleted' });
  expect(pods.changed(marked)).toMatchObject([{ kind: 'leaving' }, { kind: 'doubted', cause: 'node_lost' }]);
});

test('a pod that was marked while its node was silent is lost with the node, though the node is back when it goes', () => {
  const { book: pods } = book();
  pods.changed(fakePodView({ marked: 'node_lost', ending: { cause: 'node_lost', evidence: {} } }));
  const evicted = { marked: 'evicted', ending: { cause: 'evicted', evidence: {} } } as const;
  expect(pods.changed(fakePodView(evicted))).toEqual([]);
  expect(pods.deleted(fakePodView(evicted))).toMatchObject([{ kind: 'gone', cause: 'node_lost' }]);
});

test('whatever starts or runs on a node that takes no more pods is leaving, told once, and again after the node was back', () => {
  const { book: pods, node } = book();
  pods.changed(fakePodView());
  pods.changed(startingView({ sandbox: sandboxId('starting') }));
  pods.changed(fakePodView({ sandbox: sandboxId('bears-it'), tolerations: [{ operator: 'Exists' }] }));
  const drained = [{ key: 'spot/interrupted', effect: 'NoSchedule' }];
  node.keptOffBy = drained;
  const why = 'its node takes no more pods (spot/interrupted:NoSchedule)';
  const leaving = [
    { kind: 'leaving', sandbox: 'sandbox-1', why },
    { kind: 'leaving', sandbox: 'starting', why },
  ];
  expect(pods.nodeChanged('node-1')).toEqual(leaving);
  expect(pods.nodeChanged('node-1')).toEqual([]);
  node.keptOffBy = [];
  expect(pods.nodeChanged('node-1')).toEqual([]);
  node.keptOffBy = drained;
  expect(pods.nodeChanged('node-1')).toEqual(leaving);
});

test('a pod that lands on a node as it is emptied is leaving from its first sight', () => {
  const { book: pods, node } = book();
  node.keptOffBy = [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }];
  expect(kinds(pods.listed([fakePodView()]))).toEqual(['listed', 'leaving']);
});
