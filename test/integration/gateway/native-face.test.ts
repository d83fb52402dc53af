import { aCallResult } from '#test/fakes/gateway-core.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failureCodes, failureRow } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop(1_000));
beforeEach(() => {
  gateway.core.calls.length = 0;
  gateway.core.failure = null;
  gateway.core.created = true;
});

type Answer = { readonly status: number; readonly body: unknown };

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { 'content-type': json, ...key } = gateway.headersOf('native');
  const answer = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { ...key, ...(body === undefined ? {} : { 'content-type': json ?? '' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

const caller = { face: 'native', tenant: 'acme', run: 'nightly', keyId: 'native' };
const call = { call_id: 'c1', name: 'shell', arguments: { command: 'ls' } };

describe('opening', () => {
  const body = { rollout_id: 'trace_1', environment: 'shell@v1', attempt: 2, run: 'run-9', item: { id: 1 } };

  it('answers 201 first and 200 on a repeat', async () => {
    expect((await send('POST', '/v1/rollouts', body)).status).toBe(201);
    gateway.core.created = false;
    expect(await send('POST', '/v1/rollouts', body)).toMatchObject({
      status: 200,
      body: { rollout_id: 'trace_1', state: 'active', verdict: { kind: 'scorable' }, calls: [] },
    });
    expect(gateway.core.calls[0]).toEqual({
      method: 'open',
      args: [
        { ...caller, run: 'run-9' },
        {
          rollout: 'trace_1',
          attempt: 2,
          environment: { name: 'shell', version: 'v1' },
          item: { id: 1 },
          group: null,
          tags: { step: null, labels: [] },
          requirements: null,
        },
      ],
    });
  });

  it('refuses more folders than a rollout’s label has room for', async () => {
    const folders = Array.from({ length: 5 }, (_, index) => `/${'x'.repeat(220)}${index}`);
    const answer = await send('POST', '/v1/rollouts', { ...body, requires: { folders } });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
    expect(gateway.core.calls).toEqual([]);
  });

  it('passes on what the task requires, in the units of the core', async () => {
    const requires = {
      workdir: '/app',
      workdir_access: 'read_only',
      folders: ['/logs'],
      user: 'dev',
      memory_bytes: 1024,
      cpu_milli: 500,
      disk_bytes: 2048,
      shm_bytes: 4096,
      network: 'public',
      services: 2,
      command_timeout_s: 1.5,
      task: 'a'.repeat(64),
    };
    await send('POST', '/v1/rollouts', { ...body, requires });
    expect(gateway.core.calls[0]).toMatchObject({
      args: [
        {},
        {
          requirements: {
            sandbox: { workdir: '/app', workdirAccess: 'read_only', folders: ['/logs'], user: 'dev' },
            amounts: { memoryBytes: 1024, cpuMilli: 500, diskBytes: 2048, shmBytes: 4096 },
            network: 'public',
            services: 2,
            commandTimeoutMs: 1500,
            task: 'a'.repeat(64),
          },
        },
      ],
    });
  });

  it('passes on the group, the step and the labels that a trainer keeps its books by', async () => {
    await send('POST', '/v1/rollouts', {
      ...body,
      group: 'task 7, epoch 2',
      step: 12,
      labels: ['hard', 'retry'],
    });
    expect(gateway.core.calls[0]?.args[1]).toMatchObject({
      group: 'task 7, epoch 2',
      tags: { step: 12, labels: ['hard', 'retry'] },
    });
  });

  it.each([
    [{ labels: Array.from({ length: 17 }, () => 'x') }],
    [{ labels: ['x'.repeat(41)] }],
    [{ labels: ['"'] }],
    [{ step: -1 }],
    [{ group: '' }],
  ])('refuses what is beyond its bounds: %j', async (beyond) => {
    expect(await send('POST', '/v1/rollouts', { ...body, ...beyond })).toMatchObject({ status: 400 });
    expect(gateway.core.calls).toEqual([]);
  });

  it('refuses overrides of the sandbox, and says that no environment allows them', async () => {
    const answer = await send('POST', '/v1/rollouts', { ...body, sandbox: { cpu: 64 } });
    const error = { code: 'invalid_request', message: expect.stringContaining('allow no overrides') };
    expect(answer).toMatchObject({ status: 400, body: { error } });
    expect(gateway.core.calls).toEqual([]);
  });

  it('refuses a field that it would have to ignore', async () => {
    const answer = await send('POST', '/v1/rollouts', { ...body, priority: 1 });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
    expect(gateway.core.calls).toEqual([]);
  });
});

describe('a burst', () => {
  const burst = { environment: 'shell', needed_at: '2026-11-21T12:00:00Z', run: 'run-9' };

  it('is announced by its number', async () => {
    expect(await send('POST', '/v1/prewarm', { ...burst, count: 100 })).toEqual({
      status: 202,
      body: expect.objectContaining({
        count: 100,
        until: '2026-11-21T12:00:00.000Z',
        templates: ['template-a'],
      }),
    });
    expect(gateway.core.calls).toMatchObject([
      { method: 'prewarm', args: [{ ...caller, run: 'run-9' }, { environment: { name: 'shell' } }] },
    ]);
  });

  it('is announced with what its rollouts require', async () => {
    const requires = { memory_bytes: 2 ** 30, user: 'root' };
    expect(await send('POST', '/v1/prewarm', { ...burst, count: 1, requires })).toMatchObject({
      status: 202,
    });
    const requirements = { amounts: { memoryBytes: 2 ** 30 }, sandbox: { user: 'root' } };
    expect(gateway.core.calls).toMatchObject([{ method: 'prewarm', args: [{}, { requirements }] }]);
  });

  it('is announced row by row', async () => {
    const items = [
      { item: { id: 1 }, count: 8 },
      { item: null, count: 4 },
    ];
    expect(await send('POST', '/v1/prewarm', { ...burst, items })).toMatchObject({
      status: 202,
      body: { count: 12 },
    });
  });

  it.each([
    [{ environment: 'shell' }],
    [{ ...burst, count: 1, items: [{ item: null, count: 1 }] }],
    [{ ...burst, count: 0 }],
    [{ ...burst, count: 10_001 }],
    [{ ...burst, items: [] }],
    [{ ...burst, count: 1, needed_at: 'soon' }],
    [{ ...burst, count: 1, label: 'x' }],
    [{ ...burst, count: 1, requires: { memory: '1Gi' } }],
  ])('without sense is refused: %j', async (body) => {
    const answer = await send('POST', '/v1/prewarm', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
    expect(gateway.core.calls).toEqual([]);
  });
});

describe('calls', () => {
  it('are answered with the whole result', async () => {
    const answer = await send('POST', '/v1/rollouts/trace_1/calls?wait_s=20&attempt=3', {
      ...call,
      timeout_s: 1.5,
    });
    expect(answer).toMatchObject({
      status: 200,
      body: { call_id: 'call_1', outcome: 'completed', exit_code: 0, output: 'hello\n', oom_killed: false },
    });
    expect(gateway.core.calls[0]?.args[1]).toEqual({
      rollout: { rollout: 'trace_1', attempt: 3 },
      open: null,
      call: 'c1',
      tool: 'shell',
      namedBy: 'model',
      arguments: '{"command":"ls"}',
      timeoutMs: 1500,
      waitMs: 20_000,
    });
  });

  it('wait 300 s unless told, 540 s at most', async () => {
    await send('POST', '/v1/rollouts/trace_1/calls', call);
    await send('POST', '/v1/rollouts/trace_1/calls?wait_s=999', call);
    expect(gateway.core.calls.map(({ args }) => args[1])).toMatchObject([
      { waitMs: 300_000 },
      { waitMs: 540_000 },
    ]);
  });

  it('that still run answer 202 and where to ask again', async () => {
    gateway.core.failure = new Failure('still_running', 'it goes on', { admitted: 'yes' });
    expect(await send('GET', '/v1/rollouts/trace_1/calls/c1?wait_s=1')).toEqual({
      status: 202,
      body: { state: 'running', rollout_id: 'trace_1', call_id: 'c1' },
    });
  });

  it('exec with more output than fleet state keeps is answered as it comes from the sandbox, also to who attaches', async () => {
    const kept = { stdout: 3_000_000, stderr: 0 };
    gateway.core.result = aCallResult({
      kept,
      stdout: 'cut',
      truncated: { stdout: true, stderr: false, totalBytes: 9e6 },
    });
    const text = '"\u0001ü\n'.repeat(100_000);
    const bytes = Buffer.from(text);
    // Cut in the middle of a character.
    gateway.core.file = [bytes.subarray(0, 3), bytes.subarray(3)];
    const asked = { call_id: 'call_1', command: 'make', max_output_bytes: 5_000_000 };
    const told = await send('POST', '/v1/rollouts/trace_1/exec', asked);
    expect(told).toMatchObject({
      status: 200,
      body: { exit_code: 0, stdout: text, stderr: '', replayed: false },
    });
    expect(gateway.core.calls[0]?.args[1]).toMatchObject({ maxOutputBytes: 5_000_000 });
    expect(gateway.core.calls[1]).toMatchObject({ method: 'output' });
    expect(gateway.core.calls[1]?.args.slice(2)).toEqual(['call_1', 'stdout']);
    expect(await send('GET', '/v1/rollouts/trace_1/calls/call_1')).toMatchObject({ body: { stdout: text } });
    // Of a sandbox that the policy broke, what fleet state has is an answer, and not a failure that the policy would choose.
    gateway.core.isBroken = true;
    gateway.core.result = aCallResult({ kept, stdout: 'cut' });
    expect(await send('GET', '/v1/rollouts/trace_1/calls/call_1')).toMatchObject({
      status: 200,
      body: { stdout: 'cut', truncated: { stdout: true, stderr: false } },
    });
    gateway.core.isBroken = false;
    expect(
      (await send('POST', '/v1/rollouts/trace_1/exec', { ...asked, max_output_bytes: 11_000_000 })).status,
    ).toBe(400);
    gateway.core.result = aCallResult();
  });

  it('exec takes and returns bytes as base64, also what comes from the sandbox', async () => {
    const path = '/v1/rollouts/trace_1/exec';
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 251));
    const base64 = { stdout: '/w==', stderr: '' };
    gateway.core.result = aCallResult({ stdout: '', base64 });
    const asked = { call_id: 'call_1', command: 'cat', stdin_base64: 'AP8=', binary: true };
    expect(await send('POST', path, asked)).toMatchObject({
      status: 200,
      body: { stdout: '', stdout_base64: '/w==', stderr_base64: '' },
    });
    expect(gateway.core.calls[0]?.args[1]).toMatchObject({ stdin: { base64: 'AP8=' }, binary: true });
    gateway.core.result = aCallResult({ stdout: '', base64, kept: { stdout: bytes.length, stderr: 0 } });
    // Pieces whose lengths three does not divide.
    gateway.core.file = [bytes.subarray(0, 4), bytes.subarray(4, 5), bytes.subarray(5)];
    expect(await send('GET', '/v1/rollouts/trace_1/calls/call_1')).toMatchObject({
      body: {
        stdout: '',
        stderr: '',
        stdout_base64: bytes.toString('base64'),
        stderr_base64: '',
        exit_code: 0,
      },
    });
    for (const wrong of [{ stdin: 'x' }, { stdin_base64: 'AP8' }, { stdin_base64: 'A_8=' }])
      expect((await send('POST', path, { ...asked, ...wrong })).status).toBe(400);
    gateway.core.result = aCallResult();
  });

  it('exec takes an argv or a shell command, not both', async () => {
    await send('POST', '/v1/rollouts/trace_1/exec', {
      call_id: 'c1',
      command: 'ls | wc',
      cwd: 'x',
      env: { A: 'b' },
    });
    await send('POST', '/v1/rollouts/trace_1/exec', {
      call_id: 'c2',
      argv: ['ls', '-l'],
      stdin: 'in',
      merge: true,
    });
    expect(gateway.core.calls.map(({ args }) => args[1])).toMatchObject([
      { argv: ['sh', '-c', 'ls | wc'], preferBash: true, cwd: 'x', env: { A: 'b' } },
      { argv: ['ls', '-l'], stdin: 'in', merge: true },
    ]);
    expect(gateway.core.calls[0]?.args[1]).not.toHaveProperty('merge');
    expect(gateway.core.calls[1]?.args[1]).not.toHaveProperty('preferBash');
    const both = await send('POST', '/v1/rollouts/trace_1/exec', {
      call_id: 'c3',
      argv: ['ls'],
      command: 'ls',
    });
    expect(both).toMatchObject({ status: 400, body: { error: { call_id: 'c3' } } });
  });

  it('are cancelled by name', async () => {
    expect(await send('POST', '/v1/rollouts/trace_1/calls/c1/cancel')).toMatchObject({
      status: 202,
      body: { call_id: 'c1', state: 'cancelling', began: false, waiting: true },
    });
    expect(gateway.core.calls[0]?.args).toEqual([caller, { rollout: 'trace_1', attempt: null }, 'c1']);
  });
});

describe('the life of a rollout', () => {
  it.each([
    ['GET', '', 'view'],
    ['POST', '/heartbeat', 'heartbeat'],
    ['POST', '/finish', 'close'],
    ['DELETE', '', 'close'],
  ])('%s %s asks for %s', async (method, path, asked) => {
    expect((await send(method, `/v1/rollouts/trace_1${path}`)).status).toBe(200);
    expect(gateway.core.calls[0]?.method).toBe(asked);
  });

  it('shows why it waits for its sandbox, and nothing of that where it does not', async () => {
    expect(await send('GET', '/v1/rollouts/trace_1')).toMatchObject({ body: { waiting: null } });
    const failed = { code: 'setup_failed', message: 'exit code 4: no index', alike: 2 } as const;
    gateway.core.place = { ahead: 3, lastFailure: { ...failed, atMs: 1_800_000_000_000 } };
    expect(await send('GET', '/v1/rollouts/trace_1')).toMatchObject({
      body: {
        waiting: {
          since: expect.stringMatching(/^\d{4}-.*Z$/),
          ahead: 3,
          last_start_failure: {
            code: 'setup_failed',
            message: 'exit code 4: no index',
            count: 2,
            at: '2027-01-15T08:00:00.000Z',
          },
        },
      },
    });
    gateway.core.place = { ahead: 0, lastFailure: null };
    const { body } = await send('GET', '/v1/rollouts/trace_1');
    expect(body).toMatchObject({ waiting: { ahead: 0, last_start_failure: null } });
  });

  it('finishes with the score of a trainer that grades by itself', async () => {
    const answer = await send('POST', '/v1/rollouts/trace_1/finish?wait_s=10', { score: -0.25 });
    expect(answer.status).toBe(200);
    expect(gateway.core.calls[0]).toMatchObject({ method: 'finish' });
    expect(gateway.core.calls[0]?.args.slice(2)).toEqual([-0.25, 10_000]);
  });

  it.each([
    ['no number', '{"score":"1"}'],
    ['no number of JSON', '{"score":1e999}'],
    ['nothing', '{"score":null}'],
    ['beside something else', '{"score":1,"reward":1}'],
  ])('a score that is %s is refused, and nothing is finished', async (_, body) => {
    const headers = gateway.headersOf('native');
    const answer = await fetch(`${gateway.url}/v1/rollouts/trace_1/finish`, {
      method: 'POST',
      headers,
      body,
    });
    expect(answer.status).toBe(400);
    expect(gateway.core.calls).toEqual([]);
  });

  it.each(['rft:tools', 'rft:grade'] as const)('a key for %s brings no score', async (scope) => {
    const headers = gateway.headersOf(scope);
    const body = JSON.stringify({ score: 1 });
    const answer = await fetch(`${gateway.url}/v1/rollouts/trace_1/finish`, {
      method: 'POST',
      headers,
      body,
    });
    expect(answer.status).toBe(401);
    expect(gateway.core.calls).toEqual([]);
  });

  it.each(['POST', 'DELETE'])('%s without a body may still name a media type', async (method) => {
    const path = method === 'POST' ? '/v1/rollouts/trace_1/finish' : '/v1/rollouts/trace_1';
    const headers = gateway.headersOf('native');
    const answer = await fetch(`${gateway.url}${path}`, { method, headers });
    expect(answer.status).toBe(200);
  });

  it('is graded with detail', async () => {
    const answer = await send('POST', '/v1/rollouts/trace_1/grade?wait_s=10', {
      sample: { output_text: 'x' },
    });
    expect(answer).toEqual({ status: 200, body: { score: 0.5, detail: {}, replayed: false } });
    expect(gateway.core.calls[0]?.args[1]).toMatchObject({ open: null, waitMs: 10_000 });
  });
});

const getFile = () =>
  fetch(`${gateway.url}/v1/rollouts/trace_1/files/x`, { headers: gateway.headersOf('native') });

/** More bytes than any limit. */
function* endless(): Generator<Uint8Array> {
  for (;;) yield new Uint8Array(64 * 1024);
}

describe('files', () => {
  const { authorization: _none, ...type } = { authorization: '', 'content-type': 'application/octet-stream' };
  const put = (body: Buffer, path = 'dir/a%20b.bin') =>
    fetch(`${gateway.url}/v1/rollouts/trace_1/files/${path}`, {
      method: 'PUT',
      headers: { ...gateway.headersOf('native'), ...type },
      body: new Uint8Array(body),
    });

  it('go in byte by byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, n) => n % 251));
    const answer = await put(bytes);
    expect(await answer.json()).toEqual({ path: 'dir/a b.bin', bytes: bytes.length });
    expect(gateway.core.received.equals(bytes)).toBe(true);
  });

  it('come out byte by byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 2_000_000 }, (_, n) => n % 241));
    gateway.core.file = [bytes.subarray(0, 1_000_000), bytes.subarray(1_000_000)];
    const answer = await fetch(`${gateway.url}/v1/rollouts/trace_1/files//etc/x?user=grader`, {
      headers: gateway.headersOf('native'),
    });
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    const from = { form: 'file', path: '/etc/x', user: 'grader', mostBytes: 4 * 1024 * 1024 };
    expect(gateway.core.calls[0]?.args.slice(2)).toEqual([from]);
  });

  it('beyond the limit are refused, and the connection lives on', async () => {
    const answer = await put(Buffer.alloc(5 * 1024 * 1024));
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({
      error: { code: 'payload_too_large', rollout_id: 'trace_1' },
    });
    expect((await put(Buffer.from('ok'))).status).toBe(200);
  });

  it('take an id of the caller’s to the sandbox, which knows a repeat by it', async () => {
    await put(Buffer.from('x'), 'a?call_id=u1');
    expect(gateway.core.calls[0]?.args[2]).toEqual({ form: 'file', path: 'a', user: 'policy', call: 'u1' });
    expect((await put(Buffer.from('x'), 'a?call_id=two%20words')).status).toBe(400);
  });

  it('go in and out as an archive of a folder', async () => {
    const at = (query: string) => `${gateway.url}/v1/rollouts/trace_1/archive?${query}`;
    const headers = gateway.headersOf('native');
    const sent = { method: 'PUT', headers: { ...headers, 'content-type': 'application/x-tar' } };
    const answer = await fetch(at('path=/tests&call_id=u2'), { ...sent, body: new Uint8Array(1024) });
    expect(await answer.json()).toEqual({ path: '/tests', bytes: 1024, entries: 1 });
    const place = { form: 'archive', path: '/tests', user: 'policy' };
    expect(gateway.core.calls[0]?.args[2]).toEqual({ ...place, call: 'u2' });
    gateway.core.file = [Buffer.from('tar')];
    const back = await fetch(at('path=/tests&attempt=2'), { headers });
    expect(back.headers.get('content-type')).toBe('application/x-tar');
    expect(await back.text()).toBe('tar');
    expect(gateway.core.calls[1]?.args.slice(1)).toEqual([
      { rollout: 'trace_1', attempt: 2 },
      { ...place, mostBytes: 4 * 1024 * 1024, reportsLeftOut: true },
    ]);
    const large = await fetch(at('path=x'), { ...sent, body: new Uint8Array(5 * 1024 * 1024) });
    expect(large.status).toBe(413);
    for (const query of ['', 'path=', 'path=a%00b'])
      expect((await fetch(at(query), { headers })).status).toBe(400);
  });

  it('of unknown length beyond the limit are refused while they come', async () => {
    const chunks = Array.from({ length: 6 }, () => new Uint8Array(1024 * 1024));
    const answer = await fetch(`${gateway.url}/v1/rollouts/trace_1/files/big`, {
      method: 'PUT',
      headers: { ...gateway.headersOf('native'), ...type },
      body: ReadableStream.from(chunks),
      duplex: 'half',
    });
    expect(answer.status).toBe(413);
  });

  it('beyond the limit come out as a broken connection, never as a whole file', async () => {
    gateway.core.file = endless();
    await expect(getFile().then((answer) => answer.arrayBuffer())).rejects.toThrow();
    expect(gateway.core.fileLetGo).toBe(true);
  });

  it('that fail before their first byte are a failure of the table', async () => {
    gateway.core.file = [new Failure('sandbox_lost', 'gone')];
    const answer = await getFile();
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: 'sandbox_lost', rollout_id: 'trace_1' } });
  });

  it('whose reader goes away are let go', async () => {
    const generous = await startGateway({ fileBytes: Number.MAX_SAFE_INTEGER });
    generous.core.file = endless();
    const leaving = new AbortController();
    const answer = await fetch(`${generous.url}/v1/rollouts/trace_1/files/x`, {
      headers: generous.headersOf('native'),
      signal: leaving.signal,
    });
    expect(answer.status).toBe(200);
    leaving.abort();
    await expect.poll(() => generous.core.fileLetGo, { timeout: 5_000 }).toBe(true);
    await generous.stop(1_000);
  });

  it('without a name are refused', async () => {
    expect((await put(Buffer.from('x'), '')).status).toBe(400);
  });
});

describe('a failure of the core', () => {
  it.each(failureCodes.filter((code) => code !== 'still_running'))(
    '%s leaves as its row says',
    async (code) => {
      const row = failureRow(code);
      gateway.core.failure = new Failure(code, 'a reason');
      const headers = { ...gateway.headersOf('native'), 'content-type': 'application/json' };
      const sent = { method: 'POST', headers, body: JSON.stringify(call) };
      const answer = await fetch(`${gateway.url}/v1/rollouts/trace_1/calls`, sent);
      expect(answer.status).toBe(row.native);
      expect(await answer.json()).toMatchObject({
        error: { code, rollout_id: 'trace_1', call_id: 'c1', evidence: {} },
      });
      // Whoever may come again is told when; nobody else is invited to.
      const isLater = row.native === 503 && row.retry !== 'no';
      expect(answer.headers.get('retry-after')).toEqual(isLater ? expect.stringMatching(/^\d+$/) : null);
    },
  );
});

describe('a bad request', () => {
  it.each([
    ['GET', '/v1/nothing', undefined],
    ['POST', '/v1/rollouts', {}],
    ['POST', '/v1/rollouts', 'text'],
    ['POST', '/v1/rollouts', { rollout_id: 'a b', environment: 'shell' }],
    ['POST', '/v1/rollouts', { rollout_id: '.', environment: 'shell' }],
    ['POST', '/v1/rollouts', { rollout_id: '..', environment: 'shell' }],
    ['POST', '/v1/rollouts/t/calls', { ...call, call_id: '..' }],
    ['POST', '/v1/prewarm', { environment: 'shell', count: 1, run: '.' }],
    ['POST', '/v1/rollouts/t/calls', { ...call, timeout_s: 0 }],
    ['POST', '/v1/rollouts/t/calls', { ...call, timeout_s: 3601 }],
    ['POST', '/v1/rollouts/t/calls?wait_s=soon', call],
    ['POST', '/v1/rollouts/t/calls?attempt=0', call],
    ['POST', '/v1/rollouts/t/exec', { call_id: 'c' }],
    ['POST', '/v1/rollouts/t/exec', { call_id: 'c', argv: [] }],
    ['GET', '/v1/rollouts/a%20b', undefined],
    ['GET', '/v1/runs/r/rollouts?code=nonsense', undefined],
    ['GET', '/v1/runs/r/rollouts?verdict=maybe', undefined],
  ])('%s %s %o: 400 invalid_request, and the core is not asked', async (method, path, body) => {
    const answer = await send(method, path, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', blame: 'caller' } },
    });
    expect(gateway.core.calls).toEqual([]);
  });

  it('with a run that is a dot segment: 400', async () => {
    const headers = { ...gateway.headersOf('native'), 'x-corral-run': '..' };
    const answer = await send('GET', '/v1/rollouts/t', undefined, headers);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
  });

  it('with a wrong key: 401', async () => {
    const answer = await send('GET', '/v1/runs', undefined, { authorization: 'Bearer wrong' });
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } });
  });

  it('with a key of the other face: 401', async () => {
    const answer = await send('GET', '/v1/runs', undefined, gateway.headersOf('rft:tools'));
    expect(answer.status).toBe(401);
  });
});
