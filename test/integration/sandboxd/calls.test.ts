import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bootId, callId, sandboxId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { withoutAge } from '#test/fakes/sandbox-life.ts';
import { aBind, aShellCall, startSandboxd, type TestSandboxd, ofRollout } from '#test/support/sandboxd.ts';

const { signal } = new AbortController();
const one = callId('call/1 with odd %, ids?');

/** What a link promise ended with. */
async function troubleOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => 'no trouble',
    (error: unknown) => (error instanceof LinkError ? error.trouble : error),
  );
}
const refused = (code: string) => expect.objectContaining({ kind: 'refused', code });

describe('sandboxd over its line', () => {
  let sandboxd: TestSandboxd;
  beforeEach(async () => void (sandboxd = await startSandboxd()));
  afterEach(() => sandboxd.stop());

  it('works for its first rollout only, and tells who that is', async () => {
    const { link, target } = sandboxd;
    expect(await troubleOf(link.call(target, one, aShellCall('true'), 0, signal))).toEqual(
      refused('not_bound'),
    );
    expect(await link.identity({ ...target, boot: null }, signal)).toMatchObject({
      state: 'unbound',
      owner: null,
    });
    await link.bind(target, aBind('r1'), signal);
    expect(await link.bind(target, aBind('r1'), signal)).toMatchObject({ state: 'bound' });
    expect(await troubleOf(link.bind(target, aBind('r2'), signal))).toEqual(refused('bound_elsewhere'));
    expect(await link.identity(target, signal)).toMatchObject({ owner: { rollout: 'r1' }, calls: [] });
  });

  it('runs a call once: repeats get the same answer, other arguments a conflict', async () => {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    const call = aShellCall('echo once >> log; cat log');
    const answers = await Promise.all([1, 2, 3].map(() => link.call(target, one, call, 5000, signal)));
    expect(answers[0]).toMatchObject({ callId: one, stdout: { head: 'once\n' } });
    const [first, ...repeats] = [...answers, await link.attach(target, one, 0, signal)].map(withoutAge);
    expect(repeats).toEqual([first, first, first]);
    const other = await troubleOf(link.call(target, one, aShellCall('echo other'), 0, signal));
    expect(other).toEqual(refused('call_conflict'));
  });

  it('lets a call go on when its request has waited long enough, and a repeat attach', async () => {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    const call = aShellCall('while [ ! -e go ]; do sleep 0.02; done; echo done');
    expect(await link.call(target, one, call, 50, signal)).toBe('running');
    expect(await link.identity(target, signal)).toMatchObject({ calls: [{ callId: one, state: 'running' }] });
    await link.call(target, callId('go'), aShellCall('touch go'), 5000, signal);
    expect(await link.attach(target, one, 5000, signal)).toMatchObject({ stdout: { head: 'done\n' } });
  });

  it('gives the answer of a settled call again and says that it is settled, and knows no call of another life', async () => {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    expect(await troubleOf(link.attach(target, one, 0, signal))).toEqual(refused('unknown_call'));
    await link.call(target, one, aShellCall('echo x'), 5000, signal);
    link.settled(ofRollout(target), [one, one]);
    const settled = { settled: true, stdout: { head: 'x\n' } };
    expect(await link.attach(ofRollout(target), one, 0, signal)).toMatchObject(settled);
  });

  it('kills a cancelled call at once and settles it as cancelled, with what it said so far', async () => {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    const call = aShellCall('trap "" TERM; echo begun; sleep 60 & wait; sleep 60');
    expect(await link.call(target, one, call, 300, signal)).toBe('running');
    await link.cancel(target, one, signal);
    const answer = await link.attach(target, one, 5000, signal);
    expect(answer).toMatchObject({ ending: { kind: 'cancelled' }, stdout: { head: 'begun\n' } });
    expect(answer).toMatchObject({ evidence: { escapedProcesses: 0 } });
  });

  it('answers nobody who means another sandbox, another life, or has the wrong key', async () => {
    const { link, target } = sandboxd;
    const another = { ...target, sandbox: sandboxId('s-another') };
    expect(await troubleOf(link.identity(another, signal))).toEqual({ kind: 'other_sandbox' });
    const earlier = { ...target, boot: bootId('b-earlier') };
    const otherBoot = { kind: 'other_boot', boot: target.boot };
    expect(await troubleOf(link.bind(earlier, aBind(), signal))).toEqual(otherBoot);
    expect(await link.identity(target, signal)).toMatchObject({ state: 'unbound' });
  });

  it('runs what a template prepares before a rollout lives here, and says which command failed', async () => {
    const { link, target } = sandboxd;
    const good = [
      ['sh', '-c', 'echo 1 > prepared'],
      ['test', '-e', 'prepared'],
    ];
    expect(await link.prepare(target, good, 5000, signal)).toMatchObject({ ok: true });
    const bad = await troubleOf(link.prepare(target, [['sh', '-c', 'echo why >&2; exit 3']], 5000, signal));
    const message = 'prepare failed: ["sh","-c","echo why >&2; exit 3"] ended with exit code 3: why';
    expect(bad).toMatchObject({ code: 'prepare_failed', message, exitCode: 3 });
    const absent = await troubleOf(link.prepare(target, [['no-such-program']], 5000, signal));
    expect(absent).toMatchObject({ code: 'prepare_failed', errno: 'ENOENT' });
    await link.bind(target, aBind(), signal);
    expect(await troubleOf(link.prepare(target, good, 5000, signal))).toEqual(refused('already_bound'));
  });

  it('ends itself with exit code 0 when its time has passed', async () => {
    const { link, target } = sandboxd;
    const exited = new Promise((resolve) => sandboxd.process.once('exit', resolve));
    await link.bind(target, aBind('r1', 300), signal);
    await link.call(target, one, aShellCall('sleep 60'), 0, signal);
    expect(await exited).toBe(0);
  });
});
