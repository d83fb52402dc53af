import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { fleetFolders, sharedPayload, shellEnvironment } from '../support/fleet.ts';
import { startFleet } from '#cli/fleet/start-fleet.ts';
import { facesOf } from '../support/faces.ts';
import { partsOfFleet } from '../support/parts-of-fleet.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';

afterEach(() => void vi.unstubAllEnvs());

// What becomes of the spans is nobody's trouble but that of who wants to read them.

const hanging = () => startOtlpReceiver(() => undefined);

const refusing = async () => {
  const gone = await startOtlpReceiver();
  await gone[Symbol.asyncDispose]();
  return { ...gone, [Symbol.asyncDispose]: () => Promise.resolve() };
};

test.each([
  ['takes spans and never answers', hanging],
  ['refuses connections', refusing],
])('a collector that %s harms no call, and the log says what was dropped', async (_what, collector) => {
  await using receiver = await collector();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.endpoint);
  vi.stubEnv('OTEL_TRACES_SAMPLER_ARG', '1');
  const { root, environmentsDir, stateDir } = await fleetFolders({ shell: shellEnvironment });
  const parts = partsOfFleet(stateDir);
  const fleet = await startFleet({ environmentsDir, stateDir, payloadDir: sharedPayload });
  const { rft } = facesOf(fleet.gatewayUrl, fleet.apiKey);
  for (let call = 1; call <= 20; call += 1) {
    const answer = await rft.call({ trace: 'trace_1', call: `call_${call}`, command: 'echo hi' });
    expect(answer).toMatchObject({ status: 200, body: { output: 'hi\n' } });
  }
  const item = { answer: '42' };
  const sample = { output_text: '42', output_tools: [] };
  expect(await rft.grade({ trace: 'trace_1', item, sample })).toMatchObject({ status: 200 });
  await fleet.stop();
  const log = await readFile(join(stateDir, 'logs/gateway.jsonl'), 'utf8');
  await parts.stop(fleet, () => rm(root, { recursive: true, force: true }));
  expect(log).toContain('spans were dropped; calls are not affected');
  expect(log).not.toContain('"level":"error"');
});
