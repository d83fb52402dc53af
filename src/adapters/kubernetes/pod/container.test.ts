import { describe, expect, it } from 'vitest';
import type { PodSettings } from '#src/model/cluster.ts';
import { podRequest, podSettings } from '#test/fakes/pod-request.ts';
import { resources } from './container.ts';
import { podFor } from './pod.ts';

it('asks for what the template requests, and for all of its disk', () => {
  const { template } = podRequest({
    cpu: { requestMilli: 100, limitMilli: 1500 },
    memory: { requestBytes: 1024, limitBytes: 4096 },
    diskBytes: 2 ** 30,
  });
  expect(resources(template, { kind: 'baked' })).toEqual({
    requests: { cpu: '100m', memory: '1024', 'ephemeral-storage': '1073741824' },
    limits: { cpu: '1500m', memory: '4096', 'ephemeral-storage': '1073741824' },
  });
});

const isShm = ({ name }: { readonly name: string }) => name === 'shm';

const shmOf = (given: Parameters<typeof podRequest>[0]) => {
  const { spec } = podFor(podRequest(given), podSettings());
  return [spec?.volumes?.find(isShm), spec?.containers[0]?.volumeMounts?.find(isShm)];
};

it('has shared memory of the size that the template says, within its memory', () => {
  expect(shmOf({})).toEqual([undefined, undefined]);
  expect(shmOf({ shmBytes: 2 ** 28 })).toEqual([
    { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '268435456' } },
    { name: 'shm', mountPath: '/dev/shm' },
  ]);
});

function variablesOf(given: Parameters<typeof podRequest>[0], settings: Partial<PodSettings> = {}) {
  const [container] = podFor(podRequest(given), podSettings(settings)).spec?.containers ?? [];
  return Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
}

describe('the variables of a sandbox', () => {
  it('are exactly what was written, although Kubernetes expands dollars', () => {
    const env = { PRICE: '5$', SECRET_PLACE: '$(HOME)', TWICE: '$$' };
    expect(variablesOf({ env })).toMatchObject({
      PRICE: '5$$',
      SECRET_PLACE: '$$(HOME)',
      TWICE: '$$$$',
    });
  });

  it("leave the image's PATH, LANG and working folder as they are", () => {
    const names = Object.keys(variablesOf({}));
    for (const name of ['PATH', 'LANG', 'CORRAL_WORKSPACE']) expect(names).not.toContain(name);
  });

  it("give ordinary users a home of their own, not root's, unless the environment names one", () => {
    expect(variablesOf({})).toMatchObject({ HOME: '/workspace', CORRAL_USERS: 'two-user' });
    expect(variablesOf({ uid: 'single' })).toMatchObject({ HOME: '/workspace', CORRAL_USERS: 'single-user' });
    expect(variablesOf({ env: { HOME: '/home/me' } })).toMatchObject({ HOME: '/home/me' });
    expect(variablesOf({ runAs: 'root' })).not.toHaveProperty('HOME');
  });

  it("bring a network class's proxies, under what the environment says", () => {
    const proxied = {
      dnsPolicy: 'Default',
      env: { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '*' },
      egress: [],
    } as const;
    const given = { network: 'mirrors', env: { NO_PROXY: 'localhost' } };
    expect(variablesOf(given, { networks: { mirrors: proxied } })).toMatchObject({
      HTTPS_PROXY: 'http://proxy:3128',
      NO_PROXY: 'localhost',
    });
  });
});
