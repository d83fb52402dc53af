import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootId, callId } from '#src/model/ids.ts';
import { LinkError, type SandboxLink, type SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { withoutAge } from '../fakes/sandbox-life.ts';
import { aBind, ofRollout } from '../support/sandboxd.ts';

export type LinkUnderTest = {
  readonly link: SandboxLink;
  /** A sandbox that has just started and that nobody has. It runs `printf` and `sleep`. */
  readonly target: SandboxTarget;
  /** Ends sandboxd at once, with all that it knew. */
  kill(): Promise<void>;
  close(): Promise<void>;
};

const { signal } = new AbortController();

/** A call that ends at once and prints the text. */
const prints = (text: string): CallRequest => request(['printf', '%s', text]);
/** A call that goes on until it is stopped. */
const sleeps = request(['sleep', '60']);

function request(argv: readonly string[]): CallRequest {
  const action = { kind: 'exec', argv } as const;
  return {
    digest: `digest of ${argv.join(' ')}`,
    action,
    timeoutMs: 60_000,
    keepBytes: 1_024,
    label: 'shell',
  };
}

const place = (path: string) => ({ path, user: 'policy', form: 'file' }) as const;
const fileOut = (path: string) => ({ ...place(path), mostBytes: 1_000 });

const piece = (at: number, base64: string) => ({ stream: 'stdout', at, base64 });

/** How a promise of the link ended; for one that did not fail, what it gave. */
const endOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.catch((error: unknown) => (error instanceof LinkError ? error.trouble : error));

const refused = (status: number, code: string) =>
  expect.objectContaining({ kind: 'refused', status, code, message: expect.any(String) as string });

/** What callers rely on, the same for every line to a sandboxd; each step builds on the one before. */
export function describeSandboxLink(name: string, open: () => Promise<LinkUnderTest>): void {
  describe(`sandbox link contract: ${name}`, () => {
    let under: LinkUnderTest;
    let link: SandboxLink;
    let target: SandboxTarget;
    const meant = (rollout: string) => ofRollout(target, rollout);
    beforeAll(async () => {
      under = await open();
      ({ link, target } = under);
    });
    afterAll(() => under.close());

    it('a sandbox without a rollout says who it is, and takes no call and no file', async () => {
      const { sandbox, boot } = target;
      const unbound = {
        sandbox,
        boot,
        state: 'unbound',
        owner: null,
        label: null,
        expiresInMs: null,
        calls: [],
      };
      expect(await link.identity({ ...target, boot: null }, signal)).toMatchObject({
        ...unbound,
        probed: false,
      });
      const notBound = refused(409, 'not_bound');
      expect(await endOf(link.call(target, callId('a'), prints('a'), 0, signal))).toEqual(notBound);
      expect(await endOf(link.attach(target, callId('a'), 0, signal))).toEqual(notBound);
      expect(await endOf(link.getFile(target, fileOut('file'), signal))).toEqual(notBound);
    });

    it('a look with the question who it is counts as a probe', async () => {
      expect(await link.identity(target, signal)).toMatchObject({ probed: false });
      expect(await link.identity({ ...target, boot: null }, signal, 'brief')).toMatchObject({
        boot: target.boot,
        probed: true,
      });
    });

    it('a preparation and a probe are told as done', async () => {
      expect(await link.prepare(target, [['true']], 5_000, signal)).toMatchObject({ ok: true });
      expect(await link.probe(target, 'whole', signal)).toMatchObject({ ok: true });
      expect(await link.probe(target, 'brief', signal)).toMatchObject({ ok: true });
      expect(await link.identity(target, signal)).toMatchObject({ probed: true });
    });

    it('the first bind is for life: again is fine, another rollout or attempt is refused', async () => {
      const bind = { ...aBind('r1', 600_000), label: 'told by the gateway' };
      const bound = { state: 'bound', owner: bind.owner, label: bind.label };
      expect(await link.bind(target, bind, signal)).toMatchObject(bound);
      expect(await link.bind(target, { ...bind, label: 'another' }, signal)).toMatchObject(bound);
      const otherAttempt = { ...bind, owner: { ...bind.owner, attempt: 2 } };
      for (const other of [aBind('r2'), otherAttempt]) {
        expect(await endOf(link.bind(target, other, signal))).toEqual(refused(409, 'bound_elsewhere'));
      }
      expect((await link.identity(target, signal)).expiresInMs).toBeLessThanOrEqual(600_000);
      expect(await endOf(link.prepare(target, [['true']], 5_000, signal))).toEqual(
        refused(409, 'already_bound'),
      );
    });

    it('a call is answered with its id; a repeat gets the same, other arguments a conflict', async () => {
      const first = await link.call(target, callId('a'), prints('hello'), 5_000, signal);
      expect(first).toMatchObject({
        callId: 'a',
        ending: { kind: 'exited', exitCode: 0 },
        stdout: { head: 'hello', tail: '', totalBytes: 5, cutBytes: 0 },
      });
      const repeat = await link.call(target, callId('a'), prints('hello'), 0, signal);
      const attached = await link.attach(target, callId('a'), 0, signal);
      expect([repeat, attached].map(withoutAge)).toEqual([first, first].map(withoutAge));
      const other = link.call(target, callId('a'), prints('other'), 0, signal);
      expect(await endOf(other)).toEqual(refused(409, 'call_conflict'));
      expect(await endOf(link.attach(target, callId('never'), 0, signal))).toEqual(
        refused(404, 'unknown_call'),
      );
    });

    it('a call that asks for bytes has them next to its texts', async () => {
      const bytes = { ...prints('hello'), binary: true } as const;
      const answer = await link.call(target, callId('bytes'), bytes, 5_000, signal);
      expect(answer).toMatchObject({
        stdout: { head: 'hello', totalBytes: 5 },
        base64: { stdout: { head: 'aGVsbG8=', tail: '' }, stderr: { head: '', tail: '' } },
      });
      link.settled(meant('r1'), [callId('bytes')]);
    });

    it('a stream has what was printed from any offset on, and an end', async () => {
      const streams = { ...prints('hello'), binary: true, stream: true } as const;
      await link.call(target, callId('streamed'), streams, 5_000, signal);
      const read = async (stdout: number) =>
        Array.fromAsync(await link.stream(target, callId('streamed'), { stdout, stderr: 0 }, signal));
      expect(await read(0)).toEqual([piece(0, 'aGVsbG8='), { end: true }]);
      expect(await read(2)).toEqual([piece(2, 'bGxv'), { end: true }]);
      expect(await read(5)).toEqual([{ end: true }]);
      const unread = async (call: string) =>
        endOf(link.stream(target, callId(call), { stdout: 0, stderr: 0 }, signal));
      expect(await unread('never')).toEqual(refused(404, 'unknown_call'));
      expect(await unread('a')).toEqual(refused(400, 'invalid_request'));
      link.settled(meant('r1'), [callId('streamed')]);
      await link.attach(meant('r1'), callId('streamed'), 0, signal);
      expect(await read(0)).toEqual([piece(0, 'aGVsbG8='), { end: true }]);
    });

    it('stdin in pieces is taken once, in order, until the command is over', async () => {
      const argv = ['sleep', '60'];
      const action = { kind: 'exec', argv, openStdin: true } as const;
      const open = { ...sleeps, digest: 'open', action, stream: true } as const;
      expect(await link.call(target, callId('open'), open, 0, signal)).toBe('running');
      const give = (offset: number, text: string, isLast = false) => {
        const bytes = new TextEncoder().encode(text);
        return endOf(link.stdin(target, callId('open'), { offset, bytes, isLast, waitMs: 0 }, signal));
      };
      expect(await give(0, 'abc')).toEqual({ received: 3, open: true });
      expect(await give(0, 'abc')).toEqual({ received: 3, open: true });
      expect(await give(1, 'bcde')).toEqual({ received: 5, open: true });
      expect(await give(6, 'g')).toEqual(refused(400, 'invalid_request'));
      expect(await give(5, '', true)).toEqual({ received: 5, open: false });
      expect(await give(5, 'f')).toEqual({ received: 5, open: false });
      const broken = endOf(
        link
          .stream(target, callId('open'), { stdout: 0, stderr: 0 }, signal)
          .then((lines) => Array.fromAsync(lines)),
      );
      await link.cancel(target, callId('open'), signal);
      expect(await broken).toEqual([{ end: true }]);
      expect(await give(5, '')).toEqual({ received: 5, open: false });
      const closed = link.stdin(
        target,
        callId('a'),
        { offset: 0, bytes: Buffer.of(1), isLast: false, waitMs: 0 },
        signal,
      );
      expect(await endOf(closed)).toEqual(refused(400, 'invalid_request'));
      await link.attach(target, callId('open'), 10_000, signal);
      link.settled(meant('r1'), [callId('open')]);
      await link.attach(meant('r1'), callId('open'), 0, signal);
    });

    it('a call that takes longer than its request waits is running, and a cancel ends it', async () => {
      expect(await link.call(target, callId('b'), sleeps, 20, signal)).toBe('running');
      expect(await link.attach(target, callId('b'), 0, signal)).toBe('running');
      const journal = [
        { callId: 'a', state: 'done', label: 'shell' },
        { callId: 'bytes', state: 'confirmed' },
        { callId: 'streamed', state: 'confirmed' },
        { callId: 'open', state: 'confirmed' },
        { callId: 'b', state: 'running', digest: sleeps.digest },
      ];
      expect(await link.identity(target, signal)).toMatchObject({ calls: journal });
      await link.cancel(target, callId('b'), signal);
      expect(await link.attach(target, callId('b'), 10_000, signal)).toMatchObject({
        ending: { kind: 'cancelled' },
      });
      expect(await endOf(link.cancel(target, callId('never'), signal))).toEqual(refused(404, 'unknown_call'));
    });

    it('an answer says whether it is settled, and is given all the same', async () => {
      await link.call(target, callId('c'), sleeps, 0, signal);
      const asked = (call: string) => link.attach(meant('r1'), callId(call), 0, signal);
      expect(await asked('a')).toMatchObject({ callId: 'a', settled: false });
      link.settled(meant('r1'), [callId('a'), callId('b'), callId('never')]);
      for (const call of ['a', 'b']) expect(await asked(call)).toMatchObject({ callId: call, settled: true });
      const again = link.call(meant('r1'), callId('a'), prints('hello'), 0, signal);
      expect(await again).toMatchObject({ callId: 'a', settled: true });
    });

    it('a sandbox that works for another rollout than is meant takes no call and no file of it', async () => {
      const [own, others] = [meant('r1'), meant('r2')];
      const [mine, theirs] = [callId('mine'), callId('theirs')];
      expect(await link.call(own, mine, prints('a'), 5_000, signal)).toMatchObject({ callId: mine });
      const elsewhere = refused(409, 'bound_elsewhere');
      expect(await endOf(link.call(others, theirs, prints('b'), 0, signal))).toEqual(elsewhere);
      expect(await endOf(link.attach(others, mine, 0, signal))).toEqual(elsewhere);
      expect(await endOf(link.cancel(others, mine, signal))).toEqual(elsewhere);
      expect(await endOf(link.getFile(others, fileOut('file'), signal))).toEqual(elsewhere);
      const { calls } = await link.identity(others, signal);
      expect(calls).toContainEqual(expect.objectContaining({ callId: mine, state: 'done' }));
      expect(calls.map((call) => call.callId)).not.toContain(theirs);
      link.settled(own, [mine]);
    });

    it('a file comes back as it was put, and is counted; one that is not there is the path’s own fault', async () => {
      const put = (text: string) =>
        link.putFile(target, { ...place('file'), call: callId('upload') }, new Blob([text]).stream(), signal);
      expect(await put('some bytes')).toEqual({ bytes: 10 });
      // A repeat, whatever it brings, writes nothing.
      expect(await put('others')).toEqual({ bytes: 10 });
      const elsewhere = { ...place('other'), call: callId('upload') };
      const conflict = await endOf(link.putFile(target, elsewhere, new Blob(['x']).stream(), signal));
      expect(conflict).toMatchObject({ kind: 'refused', status: 409, code: 'call_conflict' });
      const back = await Array.fromAsync(await link.getFile(target, fileOut('file'), signal));
      expect(Buffer.concat(back).toString()).toBe('some bytes');
      const missing = await endOf(link.getFile(target, fileOut('missing'), signal));
      expect(missing).toMatchObject({ kind: 'refused', status: 422, code: 'file_error', errno: 'ENOENT' });
      expect(await link.identity(target, signal)).toMatchObject({ filesPut: 1 });
    });

    it('whoever means another life is told which one answers, and nothing runs', async () => {
      const earlier = { ...target, boot: bootId('an-earlier-life') };
      const otherBoot = { kind: 'other_boot', boot: target.boot };
      expect(await endOf(link.call(earlier, callId('d'), prints('d'), 0, signal))).toEqual(otherBoot);
      expect(await endOf(link.identity(earlier, signal))).toEqual(otherBoot);
      expect(await endOf(link.attach(target, callId('d'), 0, signal))).toEqual(refused(404, 'unknown_call'));
    });

    it('a request that its asker gives up may have been delivered, and the call goes on', async () => {
      const asker = new AbortController();
      const asked = endOf(link.attach(target, callId('c'), 10_000, asker.signal));
      // Sent later and answered, so the first one has arrived.
      await link.identity(target, signal);
      asker.abort();
      expect(await asked).toMatchObject({ kind: 'maybe_sent' });
      expect(await link.attach(target, callId('c'), 0, signal)).toBe('running');
    });

    it('when sandboxd ends, what waits may have been delivered, and later nothing is sent', async () => {
      const asked = endOf(link.attach(target, callId('c'), 10_000, signal));
      await link.identity(target, signal);
      await under.kill();
      expect(await asked).toMatchObject({ kind: 'maybe_sent' });
      expect(await endOf(link.identity(target, signal))).toMatchObject({ kind: 'not_sent' });
    });
  });
}
