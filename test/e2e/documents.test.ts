import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { requestsOf, runDocumented, scriptOf } from '../support/documented-commands.ts';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';

const repository = join(import.meta.dirname, '../..');
const text = (path: string) => readFileSync(join(repository, path), 'utf8');

/** The pages speak of the environment that comes with Corral. A fleet for each page: their rollouts have the same names. */
let corral: FleetOfTest;
beforeEach(async () => {
  corral = await startFleetOfTest({ environments: { shell: text('environments/shell.yaml') } });
});
afterEach(() => corral.stop());

test.each([
  ['docs/first-calls.md', true],
  ['docs/trainers.md', false],
  ['docs/api.md', false],
])(
  'the commands of %s run as they are shown, and each answer is what the page says',
  async (page, onlyMarked) => {
    const script = scriptOf(text(page), onlyMarked);
    const shown = requestsOf(script);
    expect(shown.length).toBeGreaterThan(0);
    const variables = { CORRAL: corral.fleet.gatewayUrl, KEY: corral.fleet.apiKey };
    const answers = await runDocumented(script, variables);
    const told = shown.map(({ command }, index) => ({ command, ...answers[index] }));
    expect(told).toMatchObject(
      shown.map(({ command, status, code }) => ({
        command,
        status: expect.stringMatching(status) as string,
        body: expect.stringContaining(code === null ? '' : `"code":"${code}"`) as string,
      })),
    );
    expect(answers).toHaveLength(shown.length);
  },
  60_000,
);
