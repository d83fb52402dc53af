import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createProgress } from './progress.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A request whose events are recorded, with the time that passes. */
function aRequest() {
  const events: string[] = [];
  const reader = { hasRead: true };
  const progress = createProgress({
    tally: { silent: (change) => void events.push(change === 1 ? 'quiet' : 'decided') },
    hasRead: () => reader.hasRead,
    onSilent: () => void events.push('silent'),
    onUnread: () => void events.push('unread'),
    nowMs: () => Date.now(),
  });
  return { events, reader, progress };
}

test('a mirror that sends nothing is quiet after a second, and silent after twenty', () => {
  const { events, progress } = aRequest();
  vi.advanceTimersByTime(19_999);
  expect(events).toEqual(['quiet']);
  vi.advanceTimersByTime(1);
  expect(events).toEqual(['quiet', 'silent']);
  progress.end();
  expect(events).toEqual(['quiet', 'silent', 'decided']);
});

test('an answer that the sandbox does not read leaves nothing undecided, and is ended after a minute', () => {
  const { events, reader, progress } = aRequest();
  reader.hasRead = false;
  vi.advanceTimersByTime(59_999);
  expect([events, progress.silentMs()]).toEqual([[], 0]);
  vi.advanceTimersByTime(1);
  expect(events).toEqual(['unread']);
  progress.end();
});

test('a mirror owes nothing once all is there, and its time starts again when the sandbox has read', () => {
  const { events, reader, progress } = aRequest();
  reader.hasRead = false;
  vi.advanceTimersByTime(30_000);
  reader.hasRead = true;
  vi.advanceTimersByTime(750);
  expect(events).toEqual([]);
  vi.advanceTimersByTime(500);
  expect(events).toEqual(['quiet']);
  progress.made(true);
  vi.advanceTimersByTime(50_000);
  expect(events).toEqual(['quiet', 'decided']);
  progress.end();
});
