import { expect, it } from 'vitest';
import { podRequest } from '#test/fakes/pod-request.ts';
import { resources } from './container.ts';

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
