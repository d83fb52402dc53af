import { describe, expect, it } from 'vitest';
import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { nothingCaptured } from '../command/capture.ts';
import { cancelledAnswer, type RawAnswer } from './answer.ts';
import { awaitAnswer, Journal, type StartCall } from './journal.ts';

const never = new AbortController().signal;
const roomy = { bytes: 1_000_000, lastKept: 0, waiting: 10, calls: 100 };
const refusal = (code: string) => expect.objectContaining({ code });

function request(digest = 'd', keepBytes = 1000): CallRequest {
  return { digest, keepBytes, timeoutMs: 1000, action: { kind: 'exec', argv: ['true'] } };
}

/** Of this size one fits into 10,000 bytes, beside an answer without output. */
const within = (startWithinMs?: number): CallRequest => ({
  ...request('d', 3900),
  ...(startWithinMs !== undefined && { startWithinMs }),
});

/** It reserves 9,024 bytes and keeps 5,024. */
const large = () => request('d', 4000);

function answerOf(callId: string, keptBytes = 0): RawAnswer {
  const stdout = { head: Buffer.alloc(keptBytes, 'x'), tail: Buffer.alloc(0), totalBytes: keptBytes };
  return {
    ...cancelledAnswer(callId),
    ending: { kind: 'exited', exitCode: 0 },
    stdout,
    stderr: nothingCaptured,
  };
}

/** A journal whose calls end when the test says so. */
function journalOf(limits = roomy) {
  const clock = createFakeClock();
  const started: string[] = [];
  const finishers = new Map<string, (answer: RawAnswer | 'late') => void>();
  const left = new Map<string, () => number>();
  const start: StartCall = (callId, _request, cancel, leftMs) => {
    started.push(callId);
    return new Promise((resolve) => {
      finishers.set(callId, resolve);
      left.set(callId, leftMs);
      cancel.addEventListener('abort', () => resolve(cancelledAnswer(callId)));
    });
  };
  const journal = new Journal(limits, start, () => clock.monotonicMs());
  const finish = async (callId: string, keptBytes = 0) => {
    finishers.get(callId)?.(answerOf(callId, keptBytes));
    await awaitAnswer(journal.find(callId), 1000, never);
  };
  const loseTurn = (callId: string) => finishers.get(callId)?.('late');
  return { journal, clock, started, finish, loseTurn, leftMsOf: (callId: string) => left.get(callId)?.() };
}

describe('Journal', () => {
  it('starts a call once however often it is sent, and gives every sender the same answer', async () => {
    const { journal, started, finish } = journalOf();
    const first = awaitAnswer(journal.receive('c', request()), 1000, never);
    const repeat = awaitAnswer(journal.receive('c', request()), 1000, never);
    await finish('c', 10);
    expect(started).toEqual(['c']);
    expect(await repeat).toEqual(await first);
    expect(await awaitAnswer(journal.receive('c', request()), 0, never)).toEqual(await first);
  });

  it('refuses the same id with other arguments, whatever became of the first', async () => {
    const { journal, finish } = journalOf();
    journal.receive('c', request('one'));
    expect(() => journal.receive('c', request('two'))).toThrow(refusal('call_conflict'));
    await finish('c');
    journal.settle(['c']);
    expect(() => journal.receive('c', request('two'))).toThrow(refusal('call_conflict'));
  });

  it('says running when the wait is over or the asker has gone, and the call goes on', async () => {
    const { journal, finish } = journalOf();
    const entry = journal.receive('c', request());
    expect(await awaitAnswer(entry, 1, never)).toBe('running');
    const asker = new AbortController();
    const waiting = awaitAnswer(entry, 60_000, asker.signal);
    asker.abort();
    expect(await waiting).toBe('running');
    await finish('c');
    expect(entry.state).toBe('done');
  });

  it('keeps the answer of a settled call, says that it is settled, and refuses none of it to a repeat', async () => {
    const { journal, finish } = journalOf();
    journal.receive('c', request());
    journal.settle(['c', 'unknown']);
    await finish('c', 10);
    expect(journal.find('c').decoded()).toMatchObject({ settled: false });
    journal.settle(['c']);
    journal.settle(['c']);
    expect(journal.receive('c', request()).decoded()).toMatchObject({ settled: true, callId: 'c' });
    expect(journal.list()).toEqual([{ callId: 'c', state: 'confirmed', digest: 'd', label: '' }]);
  });

  describe('of answers that fill its room', () => {
    const room = { ...roomy, bytes: 20_000 };

    it('evicts settled ones, the oldest first, as many as it takes, and says so to a repeat', async () => {
      const { journal, started, finish } = journalOf(room);
      for (const callId of ['a', 'b', 'c', 'd']) {
        journal.receive(callId, large());
        await finish(callId, 4000);
        journal.settle([callId]);
      }
      expect(started).toEqual(['a', 'b', 'c', 'd']);
      expect(journal.list().map(({ state }) => state)).toEqual([
        'confirmed',
        'confirmed',
        'confirmed',
        'confirmed',
      ]);
      for (const callId of ['c', 'd']) expect(journal.find(callId).state).toBe('done');
      expect(() => journal.find('a')).toThrow(refusal('answer_confirmed'));
      expect(() => journal.receive('a', large())).toThrow(refusal('answer_confirmed'));
      expect(() => journal.receive('a', request('other'))).toThrow(refusal('call_conflict'));
    });

    it('never evicts one that is not settled: the next call waits until it is', async () => {
      const { journal, started, finish } = journalOf(room);
      for (const callId of ['a', 'b', 'c']) {
        journal.receive(callId, large());
        await finish(callId, 4000);
      }
      journal.receive('d', large());
      expect(started).toEqual(['a', 'b', 'c']);
      journal.settle(['b']);
      expect(started).toEqual(['a', 'b', 'c', 'd']);
      for (const callId of ['a', 'c']) expect(journal.find(callId).state).toBe('done');
    });

    it('never evicts the latest, nor what ended after the first of them', async () => {
      const { journal, started, finish } = journalOf({ ...room, bytes: 21_000, lastKept: 2 });
      for (const callId of ['a', 'b', 'corral again', 'c']) {
        journal.receive(callId, request('d', 2000));
        await finish(callId, 4000);
      }
      journal.settle(['a', 'b', 'corral again', 'c']);
      journal.receive('d', large());
      expect(started).not.toContain('d');
      expect(() => journal.find('a')).toThrow(refusal('answer_confirmed'));
      for (const callId of ['b', 'corral again', 'c']) expect(journal.find(callId).state).toBe('done');
    });

    it('asks for calls that a gateway must have settled long ago, once their answers take half of it', async () => {
      const { journal, clock, finish } = journalOf(room);
      const end = async (callId: string) => {
        journal.receive(callId, large());
        await finish(callId, 4000);
      };
      await end('corral setup');
      await end('a');
      await clock.advance(5_000);
      expect(journal.unsettled()).toEqual(['a']);
      await end('b');
      expect(journal.unsettled()).toEqual(['a']);
      journal.settle(['a']);
      expect(journal.unsettled()).toEqual([]);
    });
  });

  it('lets new calls wait while answers fill its room, and starts them in order as room is made', async () => {
    const { journal, started, finish } = journalOf({ ...roomy, bytes: 10_000 });
    // Each may keep 2 × 3000 bytes: one fits, two do not.
    for (const callId of ['a', 'b', 'c']) journal.receive(callId, request('d', 3000));
    expect(started).toEqual(['a']);
    await finish('a', 3000);
    // What `a` kept is less than was reserved for it, but still too much for another next to it.
    expect(started).toEqual(['a']);
    expect(started).toEqual(['a']);
    journal.settle(['a']);
    expect(started).toEqual(['a', 'b']);
    await finish('b', 10);
    expect(started).toEqual(['a', 'b', 'c']);
  });

  it('never runs a call that is cancelled while it waits for room', async () => {
    const { journal, started, finish } = journalOf({ ...roomy, bytes: 10_000 });
    journal.receive('a', request('d', 4000));
    const waiting = journal.receive('b', request('d', 4000));
    journal.cancel('b');
    expect(await awaitAnswer(waiting, 0, never)).toMatchObject({ ending: { kind: 'cancelled' } });
    await finish('a');
    expect(started).toEqual(['a']);
  });

  it('ends a running call by cancel and leaves one that is done as it is', async () => {
    const { journal, finish } = journalOf();
    const running = journal.receive('a', request());
    journal.cancel('a');
    expect(await awaitAnswer(running, 1000, never)).toMatchObject({ ending: { kind: 'cancelled' } });
    const done = journal.receive('b', request());
    await finish('b');
    journal.cancel('b');
    expect(await awaitAnswer(done, 0, never)).toMatchObject({ ending: { kind: 'exited' } });
    expect(() => journal.cancel('c')).toThrow(refusal('unknown_call'));
  });

  it('tells nobody of calls that its own end took along, and starts none that waits', async () => {
    const { journal, started } = journalOf({ ...roomy, bytes: 10_000 });
    const running = journal.receive('a', request('d', 4000));
    const waiting = journal.receive('b', request('d', 4000));
    journal.abandon();
    expect(await awaitAnswer(running, 20, never)).toBe('running');
    expect(await awaitAnswer(waiting, 20, never)).toBe('running');
    expect(started).toEqual(['a']);
  });

  describe('of calls that wait until their rollout’s time is over', () => {
    const full = { ...roomy, bytes: 10_000 };
    const late = { ending: { kind: 'not_started', late: true } };

    it('forgets those that would start after it, also behind a call that finds no room, and says running to who waits', async () => {
      const { journal, clock, started, finish } = journalOf(full);
      journal.receive('a', within(100));
      const waiting = [awaitAnswer(journal.receive('b', within()), 1000, never)];
      waiting.push(awaitAnswer(journal.receive('c', within(100)), 60_000, never));
      await clock.advance(100);
      journal.receive('d', within());
      expect(await waiting[1]).toBe('running');
      expect(journal.list().map(({ callId }) => callId)).toEqual(['a', 'b', 'd']);
      await finish('a');
      expect(started).toEqual(['a', 'b']);
    });

    it('runs one that has started to its end, whatever is said of the time since', async () => {
      const { journal, clock, finish, leftMsOf } = journalOf();
      const running = journal.receive('a', within(100));
      await clock.advance(150);
      expect(leftMsOf('a')).toBe(-50);
      expect(await awaitAnswer(journal.receive('a', within(0)), 0, never)).toBe('running');
      await finish('a');
      expect(await awaitAnswer(running, 0, never)).toMatchObject({ ending: { kind: 'exited' } });
    });

    it('ends one as late for good when it is sent without any time left, and never starts it', async () => {
      const { journal, started, finish } = journalOf(full);
      journal.receive('a', within());
      journal.receive('b', within());
      for (const callId of ['b', 'c']) {
        expect(await awaitAnswer(journal.receive(callId, within(0)), 0, never)).toMatchObject(late);
        expect(await awaitAnswer(journal.receive(callId, within(5_000)), 0, never)).toMatchObject(late);
      }
      await finish('a');
      expect(started).toEqual(['a']);
    });

    it('starts one that is sent again with more time', async () => {
      const { journal, clock, started, finish } = journalOf(full);
      journal.receive('a', within());
      journal.receive('b', within(100));
      await clock.advance(100);
      journal.receive('b', within(100));
      await finish('a');
      expect(started).toEqual(['a', 'b']);
    });

    it('forgets one that waited for its turn elsewhere, and gives its room to the next', async () => {
      const { journal, started, loseTurn } = journalOf(full);
      const waiting = awaitAnswer(journal.receive('a', within(100)), 60_000, never);
      journal.receive('b', within());
      loseTurn('a');
      expect(await waiting).toBe('running');
      expect(started).toEqual(['a', 'b']);
      expect(() => journal.find('a')).toThrow(refusal('unknown_call'));
    });
  });

  it('takes no more calls than one life may have, nor more waiting ones', () => {
    const small = journalOf({ ...roomy, calls: 1 }).journal;
    small.receive('a', request());
    expect(() => small.receive('b', request())).toThrow(refusal('calls_used_up'));
    const tight = journalOf({ ...roomy, bytes: 10_000, waiting: 1 }).journal;
    for (const callId of ['a', 'b']) tight.receive(callId, request('d', 4000));
    expect(() => tight.receive('c', request())).toThrow(refusal('journal_full'));
  });
});
