import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failureCodes, failureRow } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { aCallResult } from '#test/fakes/gateway-core.ts';
import { developmentKey, type GatewayUnderTest, keyWithoutRun, startGateway } from './gateway-under-test.ts';

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop(1_000));
beforeEach(() => {
  gateway.core.calls.length = 0;
  gateway.core.failure = null;
  gateway.core.result = aCallResult();
  gateway.core.gradeResult = { score: 0.5, detail: { f1: 0.5 }, replayed: false };
});

const toolCall = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'bash',
  arguments: '{"command":"ls"}',
  item: { id: 'task-7' },
  trace_id: 'trace_1',
};
const grade = { sample: { output_text: 'x', output_tools: [] }, item: { id: 'task-7' }, trace_id: 'trace_1' };

function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const scope = path.endsWith('/grade') ? 'rft:grade' : 'rft:tools';
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { ...gateway.headersOf(scope), ...headers },
    body: JSON.stringify(body),
  });
}

describe('a tool call', () => {
  it('is answered with the four fields of the protocol and nothing else', async () => {
    const answer = await post('/rft/shell/tools/shell', toolCall);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      type: 'function_call_output',
      call_id: 'call_1',
      id: 'fc_1',
      output: 'hello\n',
    });
  });

  it('reaches the core with the tool of its address, its item and its run', async () => {
    await post('/rft/shell@v7/tools/shell', toolCall, { 'x-corral-run': 'run-3' });
    expect(gateway.core.calls).toEqual([
      {
        method: 'toolCall',
        args: [
          { face: 'rft', tenant: 'acme', run: 'run-3', keyId: 'rft-tools' },
          {
            rollout: { rollout: 'trace_1', attempt: null },
            open: { environment: { name: 'shell', version: 'v7' }, item: { id: 'task-7' } },
            call: 'call_1',
            tool: 'shell',
            namedBy: 'job',
            arguments: '{"command":"ls"}',
            timeoutMs: null,
            waitMs: 540_000,
          },
        ],
      },
    ]);
  });

  it('at the shared address means the tool that its body names, in the default run of the key', async () => {
    await post('/rft/shell/tools', { ...toolCall, item: null, arguments: { command: 'ls' } });
    expect(gateway.core.calls[0]?.args).toMatchObject([
      { run: 'nightly' },
      { tool: 'bash', arguments: '{"command":"ls"}', open: { item: null } },
    ]);
  });

  it('near 1 MB passes', async () => {
    const answer = await post('/rft/shell/tools', { ...toolCall, item: { text: 'x'.repeat(1_000_000) } });
    expect(answer.status).toBe(200);
  });

  it('of the model’s own mistake is a 200 with text', async () => {
    gateway.core.result = aCallResult({ outcome: 'refused', code: 'bad_arguments', output: 'Error: no.' });
    const answer = await post('/rft/shell/tools', { ...toolCall, arguments: [7] });
    expect(await answer.json()).toMatchObject({ output: 'Error: no.' });
  });

  it('without any run name is told what to send', async () => {
    const answer = await post('/rft/shell/tools', toolCall, { authorization: `Bearer ${keyWithoutRun}` });
    expect(answer.status).toBe(500);
    expect(await answer.text()).toContain('X-Corral-Run');
  });

  it('opens with the development key from this machine', async () => {
    const answer = await post('/rft/shell/tools', toolCall, { authorization: `Bearer ${developmentKey}` });
    expect(answer.status).toBe(200);
    expect(gateway.core.calls[0]?.args[0]).toMatchObject({ tenant: 'development', run: 'development' });
  });

  it('with a key for grades only: 503 unauthorized', async () => {
    const answer = await post('/rft/shell/tools', toolCall, gateway.headersOf('rft:grade'));
    expect(answer.status).toBe(503);
    expect(gateway.core.calls).toEqual([]);
  });
});

describe('a grade', () => {
  it('is answered with the score and nothing else', async () => {
    const answer = await post('/rft/shell/grade', grade);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ score: 0.5 });
    expect(gateway.core.calls[0]?.args[1]).toMatchObject({
      sample: JSON.stringify(grade.sample),
      waitMs: 540_000,
    });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])(
    'of %s is 503 grader_failed, never a number',
    async (score) => {
      gateway.core.gradeResult = { score, detail: {}, replayed: false };
      const answer = await post('/rft/shell/grade', grade);
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({ error: { code: 'grader_failed', rollout_id: 'trace_1' } });
    },
  );
});

describe('a failure of the core', () => {
  it.each(failureCodes)('%s leaves as its row of the table says', async (code) => {
    gateway.core.failure = new Failure(code, 'a reason', {
      evidence: { sandbox: 'sb-1' },
      admitted: 'unknown',
    });
    for (const [path, body] of [
      ['/rft/shell/tools', toolCall],
      ['/rft/shell/grade', grade],
    ] as const) {
      const answer = await post(path, body);
      const row = failureRow(code);
      expect(answer.status).toBe(row.rft);
      expect(answer.headers.has('retry-after')).toBe(row.rft === 503 && row.retry !== 'no');
      expect(await answer.json()).toMatchObject({
        error: {
          code,
          blame: row.blame,
          message: 'a reason',
          rollout_id: 'trace_1',
          admitted: 'unknown',
          tainted: row.taints,
          evidence: { sandbox: 'sb-1' },
        },
      });
    }
  });

  it('that nobody classified is 500 unclassified', async () => {
    gateway.core.failure = Object.assign(new TypeError('boom'), { statusCode: 404 });
    const answer = await post('/rft/shell/tools', toolCall);
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: { code: 'unclassified', blame: 'infrastructure' } });
  });
});
