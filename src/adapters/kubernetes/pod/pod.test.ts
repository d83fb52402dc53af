import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { podRequest, podSettings } from '#test/fakes/pod-request.ts';
import { podFor } from './pod.ts';

describe('podFor', () => {
  it('makes of a plain template the whole pod that operators see', async () => {
    const pod = podFor(podRequest(), podSettings());
    await expect(stringify(pod, { singleQuote: true })).toMatchFileSnapshot('./plain-pod.yaml');
  });

  it('is the same for the same request, so that a create may be sent again', () => {
    expect(podFor(podRequest(), podSettings())).toEqual(podFor(podRequest(), podSettings()));
  });

  it('sets no deadline, which would count idle hours, and no probes, which would cost the nodes', () => {
    const { spec } = podFor(podRequest(), podSettings());
    expect(spec).not.toHaveProperty('activeDeadlineSeconds');
    for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
      expect(spec?.containers[0]).not.toHaveProperty(probe);
    }
  });

  it("lets no label of an operator or author stand where the fleet's own must", () => {
    const labels = { 'corral.dev/fleet': 'other', team: 'reasoning' };
    const settings = podSettings({ placement: { ...podSettings().placement, labels } });
    expect(podFor(podRequest(), settings).metadata?.labels).toMatchObject({
      'corral.dev/fleet': 'test',
      team: 'reasoning',
    });
  });

  it('mounts data that an image holds read-only, and nothing where it is baked into its own', () => {
    const data = [
      { image: 'registry.example.com/data/icd10:1', target: '/data/icd10' },
      { image: 'baked', target: '/data/pages' },
    ];
    const { spec } = podFor(podRequest({ data }), podSettings());
    const [, ...more] = spec?.volumes?.filter(({ name }) => name.startsWith('data-') || name === 'tmp') ?? [];
    expect(more).toEqual([
      {
        name: 'data-0',
        image: { reference: 'registry.example.com/data/icd10:1', pullPolicy: podSettings().imagePullPolicy },
      },
    ]);
    const mounts = spec?.containers[0]?.volumeMounts?.filter(({ name }) => name.startsWith('data-'));
    expect(mounts).toEqual([{ name: 'data-0', mountPath: '/data/icd10', readOnly: true }]);
  });

  it.each([
    [{ image: { kind: 'host' } } as const, /image: host is a folder of one machine/],
    [{ image: { kind: 'rootfs', path: '/srv/root' } } as const, /rootfs:\/srv\/root is a folder/],
    [{ data: [{ source: '/srv/corpus', target: '/corpus' }] }, /name an image that holds it/],
    [
      { network: 'mirrors', mirrors: { pypi: ['https://packages.example/simple/'] } },
      /mirrors: …} is not offered on a cluster/,
    ],
    [{ network: 'internet' }, /network "internet" is not offered by this fleet; there is: none/],
  ])('refuses what no cluster has, and says what to write instead: %j', (given, sentence) => {
    expect(() => podFor(podRequest(given), podSettings())).toThrow(
      expect.objectContaining({ code: 'start_failed', message: expect.stringMatching(sentence) }),
    );
  });
});

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
