import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import { type Fleet, startFleet } from '#cli/fleet/start-fleet.ts';
import { runCorral } from '#test/support/command-line.ts';
import { sharedPayload } from '#test/support/fleet.ts';

/* The environments that we ship are proven as their readers are told to prove their own. */

const environmentsDir = join(import.meta.dirname, '../../environments');

let fleet: Fleet;
let stateDir = '';
beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'corral-gallery-'));
  fleet = await startFleet({ environmentsDir, stateDir, payloadDir: sharedPayload });
});
afterAll(async () => {
  await fleet.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

const there = () => ['--url', fleet.gatewayUrl, '--key', fleet.apiKey, '--environments', environmentsDir];

test.each(['code-edit-planning', 'column-total', 'shell'])(
  'the policies of %s stand in order, each where it is expected',
  async (name) => {
    const { exitCode, printed } = await runCorral(['ladder', name, ...there()]);
    expect(printed).toMatch(/The rungs stand in order\.$/);
    expect(exitCode).toBe(exitCodes.done);
  },
);

test.each(['code-edit-planning', 'column-total', 'shell'])(
  'no attack on %s is paid more than nothing is',
  async (name) => {
    const { exitCode, printed } = await runCorral(['attack', name, ...there()]);
    expect(printed).toMatch(/paid as nothing is\.$/);
    expect(exitCode).toBe(exitCodes.done);
  },
  // Some fifty rollouts, of which some make their grader wait as long as it will.
  300_000,
);
