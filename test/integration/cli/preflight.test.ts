import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '../../../cli/command-error.ts';
import type { PreflightReport } from '../../../cli/preflight/report.ts';
import { runCorral } from '../../support/command-line.ts';
import { shellEnvironment, startFleetOfTest } from '../../support/fleet.ts';
import type { FleetOfTest } from '../../support/fleet.ts';

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterAll(() => corral.stop());

const preflight = (...options: readonly string[]) => {
  const { gatewayUrl, apiKey } = corral.fleet;
  const there = ['--url', gatewayUrl, '--key', apiKey, '--hold', '0'];
  return runCorral(['preflight', ...options, ...there]);
};

test('an environment in order has every tool, its grader and its closed network told, and the job to paste', async () => {
  // Reserved for documentation (RFC 5737): nobody is there, wherever this runs.
  const { exitCode, printed } = await preflight('--json', '--probe', '192.0.2.1:9', 'shell');
  const report = JSON.parse(printed) as PreflightReport;
  expect(exitCode).toBe(exitCodes.done);
  expect(report.checks.map(({ what }) => what)).toEqual([
    'tool shell',
    'grader after those calls',
    'grader of an untouched sandbox',
    'egress',
    'a body near 1 MB',
  ]);
  expect(report.egress['shell']).toEqual({
    state: 'closed',
    tried: [{ what: '192.0.2.1:9', address: '192.0.2.1:9', seen: 'ENETUNREACH' }],
  });
  expect(report.jobs['shell']).toMatchObject({ tools: [{ name: 'shell' }] });
});

test('a person reads in one line whether sandboxes are closed', async () => {
  const { printed } = await preflight();
  expect(printed).toMatch(/^ok +shell +egress .* closed: it has no address but its own/m);
  expect(printed).toContain('Everything is in order.');
});

test('an environment that is not there is the caller’s mistake, and the ones that are there are named', async () => {
  const { exitCode, said } = await preflight('shall');
  expect(exitCode).toBe(exitCodes.yours);
  expect(said).toMatch(/there is no environment shall\n.*\n.*there is: shell/);
});
