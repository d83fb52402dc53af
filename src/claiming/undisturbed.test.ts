import { expect, test } from 'vitest';
import { LinkError } from '../ports/sandbox-link.ts';
import type { CallAnswer, CallEvidence } from '../protocol/sandboxd/wire.ts';
import { undisturbed } from './undisturbed.ts';

const nothing = { head: '', tail: '', totalBytes: 0, cutBytes: 0 };
const answerWith = (more: Partial<CallEvidence>): CallAnswer => ({
  callId: 'c1',
  ending: { kind: 'exited', exitCode: 137 },
  stdout: nothing,
  stderr: nothing,
  evidence: {
    durationMs: 5,
    outOfMemoryKills: 1,
    escapedProcesses: 0,
    backgroundProcesses: 0,
    ...more,
  },
});

const troubleOf = (more: Partial<CallEvidence>): unknown => {
  try {
    undisturbed(answerWith(more));
    return null;
  } catch (thrown) {
    return thrown instanceof LinkError ? thrown.trouble : thrown;
  }
};

test.each(['machine', 'unknown'] as const)(
  'a kill for memory that the %s lacked makes the call’s result unknown, and the loss is marked',
  (memoryLackedBy) => {
    expect(troubleOf({ memoryLackedBy })).toMatchObject({
      kind: 'struck',
      cause: 'node_out_of_memory',
      evidence: { outOfMemoryKills: 1, memoryLackedBy, suspected: 'command' },
    });
  },
);

test('a kill at the sandbox’s own limit is what the command did', () => {
  const answer = answerWith({ memoryLackedBy: 'sandbox' });
  expect(undisturbed(answer)).toBe(answer);
  expect(undisturbed('running')).toBe('running');
});
