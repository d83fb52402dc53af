import { expect, it } from 'vitest';
import { podRequest, podSettings } from '#test/fakes/pod-request.ts';
import { podFor } from './pod.ts';

it('looks no name up without a network, and does not wait for it', () => {
  expect(podFor(podRequest(), podSettings()).spec).toMatchObject({
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['127.0.0.1'] },
  });
});

it("asks the servers of the operator's class, and carries its name for the network policies", () => {
  const networks = { mirrors: { dnsPolicy: 'ClusterFirst', env: {}, egress: [] } } as const;
  const pod = podFor(podRequest({ network: 'mirrors' }), podSettings({ networks }));
  expect(pod.spec).toMatchObject({ dnsPolicy: 'ClusterFirst' });
  expect(pod.spec).not.toHaveProperty('dnsConfig');
  expect(pod.metadata?.labels).toMatchObject({ 'corral.dev/network': 'mirrors' });
});
