import { expect, it } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import { podName } from './name.ts';

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
