import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { podSettings } from '#test/fakes/pod-request.ts';
import { manifests } from './manifests.ts';

const mirrors = {
  dnsPolicy: 'ClusterFirst',
  env: {},
  egress: [{ cidr: '10.0.0.7/32', except: [], ports: [{ port: 3128, protocol: 'TCP' }] }],
} as const;
const open = {
  dnsPolicy: 'None',
  env: {},
  egress: [{ cidr: '0.0.0.0/0', except: ['10.0.0.0/8', '169.254.0.0/16'], ports: [] }],
} as const;

const settings = { ...podSettings({ networks: { mirrors, open } }), home: 'corral' };

test('what a fleet with two network classes needs of a cluster, as operators read it', async () => {
  const yaml = manifests(settings).map((object) => stringify(object, { singleQuote: true }));
  await expect(yaml.join('---\n')).toMatchFileSnapshot('./manifests.yaml');
});

test('where sandboxes run under one ordinary id, the API server admits nothing with more rights', () => {
  const [sandboxes] = manifests({ ...settings, singleUid: true });
  expect(sandboxes).toMatchObject({
    metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  });
});

test('everything carries the label by which a fleet is removed', () => {
  for (const object of manifests(settings)) {
    expect(object).toMatchObject({ metadata: { labels: { 'corral.dev/fleet': 'test' } } });
  }
});
