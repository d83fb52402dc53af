import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import { callId } from '#src/model/ids.ts';
import { eventually } from '#test/support/eventually.ts';
import {
  aBind,
  aShellCall,
  startSandboxdInBwrap,
  type TestSandboxd,
  type TestSandboxdOptions,
} from '#test/support/sandboxd.ts';

const { signal } = new AbortController();
const payload = 'out/payload';
const soon = { CORRAL_REHEARSE_AFTER_MS: '50' };

describe('a sandbox that stands idle after its probe', () => {
  let running: TestSandboxd[] = [];
  afterEach(async () => {
    await Promise.all(running.map((sandboxd) => sandboxd.stop()));
    running = [];
  });

  /**
   * With all that it logs from now on. It sees no processes but its own: one of this machine that goes while it looks counts
   * as the policy's.
   */
  async function started(options: TestSandboxdOptions = { env: soon }) {
    const sandboxd = await startSandboxdInBwrap(payload, { programs: true, ...options });
    running.push(sandboxd);
    const said: string[] = [];
    sandboxd.process.stderr?.setEncoding('utf8').on('data', (text: string) => said.push(text));
    const log = () => said.join('');
    const rehearsed = () =>
      eventually(async () => log(), expect.stringContaining('"message":"rehearsed"') as object);
    return { ...sandboxd, log, rehearsed };
  }

  it('plays a bind and a call through, and is nobody’s and untouched after it', async () => {
    const { link, target, workspace, log, rehearsed } = await started();
    const before = await link.identity(target, signal, 'brief');
    await rehearsed();
    expect(log()).toContain('"answers":[200,200]');
    expect(await link.identity(target, signal)).toEqual(before);
    expect(before).toMatchObject({ state: 'unbound', owner: null, calls: [] });
    expect(readdirSync(workspace)).toEqual([]);
  });

  it('takes its rollout after it as ever, and the first call finds nothing of it', async () => {
    const { link, target, rehearsed } = await started();
    await link.probe(target, 'brief', signal);
    await rehearsed();
    expect(await link.bind(target, aBind(), signal)).toMatchObject({ state: 'bound', calls: [] });
    const answer = await link.call(target, callId('rehearsal'), aShellCall('ls -A'), 10_000, signal);
    expect(answer).toMatchObject({
      ending: { kind: 'exited', exitCode: 0 },
      stdout: { head: '' },
      evidence: { backgroundProcesses: 0, escapedProcesses: 0 },
    });
  });

  it('plays it once, however often it is looked over', async () => {
    const { link, target, log, rehearsed } = await started();
    for (let time = 0; time < 3; time += 1) await link.identity(target, signal, 'brief');
    await rehearsed();
    await sleep(300);
    expect(log().match(/rehearsed/g)).toHaveLength(1);
  });

  it('has no expiry from it: it lives on when the played one’s time has passed', async () => {
    const { link, target, rehearsed } = await started();
    await link.probe(target, 'brief', signal);
    await rehearsed();
    expect(await link.identity(target, signal)).toMatchObject({ state: 'unbound', expiresInMs: null });
    await sleep(5_500);
    expect(await link.identity(target, signal)).toMatchObject({ state: 'unbound', expiresInMs: null });
  });

  it('opens to nobody by the token of the played one', async () => {
    const { target, link, rehearsed } = await started();
    await link.probe(target, 'brief', signal);
    await rehearsed();
    const stranger = createSandboxdHttpLink({ tokenOf: () => 'rehearsal', connectTimeoutMs: 2_000 });
    await expect(stranger.identity(target, signal)).rejects.toMatchObject({
      trouble: { kind: 'refused', code: 'unauthorized' },
    });
    await stranger.close();
  });

  it('does so in a root without a shell, too', async () => {
    const { link, target, log, rehearsed } = await started({ env: soon, shell: false, programs: false });
    await link.probe(target, 'whole', signal);
    await rehearsed();
    expect(log()).toContain('"answers":[200,200]');
    expect(await link.identity(target, signal)).toMatchObject({ state: 'unbound', calls: [] });
  });

  it('does not beside what its template has left running, which stays', async () => {
    const { link, target, log } = await started();
    const alive = 'test $(pgrep -u $(id -u) -c sleep) = 1';
    await link.prepare(target, [['sh', '-c', 'sleep 1000 > /dev/null 2>&1 &']], 10_000, signal);
    await link.probe(target, 'brief', signal);
    await sleep(500);
    expect(log()).not.toContain('rehearsed');
    await link.bind(target, aBind(), signal);
    const answer = await link.call(target, callId('look'), aShellCall(alive), 10_000, signal);
    expect(answer).toMatchObject({ ending: { kind: 'exited', exitCode: 0 } });
  });

  it('does not once it has its rollout', async () => {
    const { link, target, log } = await started({ env: { CORRAL_REHEARSE_AFTER_MS: '1000' } });
    await link.probe(target, 'brief', signal);
    await link.bind(target, aBind(), signal);
    await sleep(1_500);
    expect(log()).not.toContain('rehearsed');
  });
});
