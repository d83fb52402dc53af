import { expect, test } from 'vitest';
import { planCluster } from '../plan.ts';
import { corefile } from '../services/argv.ts';
import { containerdConfig } from './containerd-config.ts';
import { kubeletConfig } from './kubelet-config.ts';
import { podNetwork } from './pod-network.ts';

const plan = planCluster({ name: 'x', nodes: 2, fakeNodes: 0, nodeLoss: 'fast' });
const [first, second] = plan.nodes;
if (first === undefined || second === undefined) throw new Error('two nodes were planned');

const settings = { programs: '/programs', mayLowerOomScore: true };

test('containerd keeps everything in the folder of its own node', () => {
  const config = containerdConfig(second, settings);
  for (const part of ['root', 'state', 'opt', 'runc', 'containerd.sock', 'cni']) {
    expect(config).toContain(`"${second.folder}/${part}"`);
  }
  expect(config).not.toContain(first.folder);
});

const restricted = (mayLowerOomScore: boolean) =>
  containerdConfig(first, { ...settings, mayLowerOomScore }).match(/restrict_oom_score_adj = (\w+)/)?.[1];

test('where out-of-memory scores may not be lowered, containers are started without it', () => {
  expect(restricted(false)).toBe('true');
  expect(restricted(true)).toBe('false');
});

test('the kubelet listens, finds containerd and puts pods where its node is', () => {
  expect(JSON.parse(kubeletConfig(plan, second))).toMatchObject({
    address: '10.250.0.12',
    cgroupRoot: '/corral-x-n2',
    containerRuntimeEndpoint: `unix://${second.folder}/containerd.sock`,
  });
});

test('pods ask for names where CoreDNS listens, and find their own namespace first', () => {
  const config = JSON.parse(kubeletConfig(plan, first)) as { readonly clusterDNS: readonly string[] };
  expect(config).toMatchObject({ clusterDNS: ['10.250.0.1'], clusterDomain: 'cluster.local' });
  expect(corefile(plan)).toContain(`bind ${config.clusterDNS[0]}`);
});

test('a full disk of the machine evicts no pod and removes no image', () => {
  const config = JSON.parse(kubeletConfig(plan, first)) as { readonly evictionHard: object };
  expect(config.evictionHard).toMatchObject({ 'nodefs.available': '0%', 'imagefs.available': '0%' });
});

const rangeOf = (text: string) => text.match(/10\.251\.\d\.0\/24/g);

test('pods get addresses from the range of their node', () => {
  expect(rangeOf(podNetwork(first))).toEqual([first.podRange]);
  expect(rangeOf(podNetwork(second))).toEqual([second.podRange]);
});
