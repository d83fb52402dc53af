import { afterEach, describe, expect, it } from 'vitest';
import { type FakeRftServer, type Scripted, startFakeRftServer } from '#test/fakes/rft-server.ts';
import { openFleetView } from './fleet-view.ts';

let server: FakeRftServer | undefined;
afterEach(() => server?.close());

/** A native face that answers by path. */
async function view(answers: Readonly<Record<string, unknown>>) {
  server = await startFakeRftServer(({ path }): Scripted => {
    const body = answers[path];
    return body === undefined ? { status: 404, body: { error: { code: 'unknown' } } } : { status: 200, body };
  });
  return openFleetView(server.url, 'key', 'run 1');
}

const line = {
  rollout_id: 'trace_1',
  verdict: { kind: 'scorable' },
  launch_type: 'cold',
  placed_at: '2026-01-01T00:00:00.100Z',
  active_at: '2026-01-01T00:00:01.350Z',
};

describe('what the fleet says of a run', () => {
  it('is read page by page, with the start latency from first call to an accepted sandbox', async () => {
    const lost = { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed' };
    const fleet = await view({
      '/v1/runs/run%201/rollouts': { rollouts: [line], cursor: 'a b' },
      '/v1/runs/run%201/rollouts?cursor=a%20b': {
        rollouts: [{ ...line, rollout_id: 'trace_2', verdict: lost, active_at: null }],
        cursor: null,
      },
    });
    expect(await fleet.rollouts()).toEqual([
      {
        rollout: 'trace_1',
        verdict: 'scorable',
        code: null,
        cause: null,
        launchType: 'cold',
        startMs: 1250,
      },
      {
        rollout: 'trace_2',
        verdict: 'discard',
        code: 'sandbox_lost',
        cause: 'sandboxd_killed',
        launchType: 'cold',
        startMs: null,
      },
    ]);
    expect(server?.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer key',
      'x-corral-run': 'run 1',
    });
  });

  it('tells which sandbox a rollout has, and null while it has none', async () => {
    const fleet = await view({
      '/v1/rollouts/trace_1': { epoch: { sandbox: 's-1', boot: 'b' } },
      '/v1/rollouts/trace_2': { epoch: null },
    });
    expect(await fleet.sandboxOf('trace_1')).toBe('s-1');
    expect(await fleet.sandboxOf('trace_2')).toBe(null);
  });

  it('rejects with the URL and the answer when the fleet does not answer 200', async () => {
    const fleet = await view({});
    await expect(fleet.run()).rejects.toThrow(/\/v1\/runs\/run%201 answered 404: .*unknown/);
  });
});
