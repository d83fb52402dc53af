import { expect, test } from 'vitest';
import { mostNodes, planCluster } from './plan.ts';

const planOf = (name: string, nodes: number) => planCluster({ name, nodes, fakeNodes: 0, nodeLoss: 'fast' });

const namesOf = (name: string) => {
  const plan = planOf(name, 2);
  const ofNodes = plan.nodes.flatMap((node) => [node.namespace, node.controlGroup, node.folder]);
  return new Set([plan.hub, plan.folder, plan.kubeconfig, ...ofNodes]);
};

test('two clusters share no namespace, no control group and no folder', () => {
  expect(namesOf('one').isDisjointFrom(namesOf('two'))).toBe(true);
});

test('no two nodes of the largest cluster share an address, a range of pods or a wire', () => {
  const { nodes } = planOf('large', mostNodes);
  for (const each of ['address', 'podRange', 'hubLink', 'namespace'] as const) {
    expect(new Set(nodes.map((node) => node[each])).size).toBe(mostNodes);
  }
});

/** A network interface's name has 15 characters, a socket's path 107. */
test('the longest name leaves room for what the kernel bounds', () => {
  const longest = planOf('a'.repeat(16), mostNodes).nodes.at(-1);
  expect(longest?.hubLink.length).toBeLessThanOrEqual(15);
  expect(`${longest?.containerdSocket}.ttrpc`.length).toBeLessThanOrEqual(107);
});
