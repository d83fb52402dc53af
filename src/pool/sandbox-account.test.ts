import * as fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { sandboxId, templateDigest } from '../model/ids.ts';
import { sandboxAddress } from '../model/rollout.ts';
import type { ProviderEvent } from '../ports/sandbox-provider.ts';
import { createBeside, differences } from '#test/simulation/processes/beside.ts';

beforeEach(() => void differences.splice(0));

const sandbox = fc.constantFrom('a', 'b', 'c').map(sandboxId);
const address = sandboxAddress('unix:/run/1.sock');
const evidence = {};
const listed = fc.uniqueArray(sandbox).map((sandboxes) => ({
  kind: 'listed' as const,
  sandboxes: sandboxes.map((sandbox) => ({
    sandbox,
    template: templateDigest('template-a'),
    phase: 'running' as const,
    address,
    createdAtMs: 0,
    owner: null,
    expiresAtMs: null,
  })),
}));
const event: fc.Arbitrary<ProviderEvent> = fc.oneof(
  listed,
  sandbox.map((sandbox) => ({ kind: 'running' as const, sandbox, address })),
  sandbox.map((sandbox) => ({ kind: 'gone' as const, sandbox, cause: 'evicted' as const, evidence })),
  sandbox.map((sandbox) => ({
    kind: 'cannot_start' as const,
    sandbox,
    code: 'start_failed' as const,
    message: 'no',
    evidence,
  })),
  sandbox.map((sandbox) => ({ kind: 'leaving' as const, sandbox, why: 'drained' })),
  sandbox.map((sandbox) => ({
    kind: 'doubted' as const,
    sandbox,
    address,
    cause: 'node_lost' as const,
    evidence,
  })),
  sandbox.map((sandbox) => ({ kind: 'trusted' as const, sandbox })),
);

test('whatever a provider says, the account says the same of it as the memories beside it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 12 }), async (events) => {
      const beside = createBeside();
      for (const one of events) await beside(one);
      expect(differences.splice(0)).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
});
