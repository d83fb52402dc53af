import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { createFakeClock, settled } from '#test/fakes/clock.ts';
import { fakeFleetAnswer } from '#test/fakes/fleet-answer.ts';
import { CommandError } from '../command-error.ts';
import { followFleet } from './follow-fleet.ts';
import { paint } from './lines.ts';
import type { Screen } from './screen.ts';

/** A screen that keeps what is on it, and whether it was given back. */
function fakeScreen() {
  const seen = { text: '', drawn: 0, isOpen: false, columns: 80 };
  const told = new EventEmitter();
  const screen: Screen = {
    isTerminal: true,
    open: ({ onEnd, onResize }) => {
      seen.isOpen = true;
      told.on('end', onEnd).on('resize', onResize);
      return {
        size: () => ({ columns: seen.columns, rows: 12 }),
        draw: (lines) => {
          seen.drawn += 1;
          seen.text = lines.map((line) => paint(line, false)).join('\n');
        },
        close: () => void (seen.isOpen = false),
      };
    },
  };
  return { screen, seen, end: () => told.emit('end'), resize: () => told.emit('resize') };
}

function following(ask: () => Promise<FleetAnswer>) {
  const clock = createFakeClock();
  const fake = fakeScreen();
  const done = followFleet({ url: 'http://gateway', ask, screen: fake.screen, clock });
  done.catch(() => undefined);
  return { clock, ...fake, done };
}

const away = () => new CommandError('the gateway did not answer', 'the fleet', 'wait');

test('the fleet is asked and drawn each second, until the reader has seen enough; then the screen is given back', async () => {
  let asked = 0;
  const { clock, seen, end, done } = following(() => {
    asked += 1;
    return Promise.resolve(fakeFleetAnswer({ fleet: `lab-${asked}` }));
  });
  await clock.advance(3_500);
  expect(asked).toBe(4);
  expect(seen.text).toContain('fleet lab-4');
  end();
  await done;
  expect(seen.isOpen).toBe(false);
});

test('a gateway that goes away is told with the age of what stands there, and is asked until it is back', async () => {
  let isAway = false;
  const { clock, seen, end, done } = following(() =>
    isAway ? Promise.reject(away()) : Promise.resolve(fakeFleetAnswer({ age_ms: 0 })),
  );
  await clock.advance(1_500);
  isAway = true;
  await clock.advance(12_000);
  expect(seen.text).toContain('trying again: the gateway did not answer');
  expect(seen.text).toMatch(/fleet lab at http:\/\/gateway, as it was 1[12] s ago/);
  isAway = false;
  await clock.advance(1_500);
  expect(seen.text).not.toContain('trying again');
  end();
  await done;
});

test('a gateway that says nothing at all is seen as old within seconds, and does not keep the reader', async () => {
  let asked = 0;
  const { clock, seen, end, done } = following(() => {
    asked += 1;
    return asked === 1 ? Promise.resolve(fakeFleetAnswer()) : new Promise(() => undefined);
  });
  await clock.advance(6_100);
  expect(seen.text).toMatch(/as it was [56] s ago/);
  end();
  await done;
  expect(seen.isOpen).toBe(false);
});

test('what only the reader can fix ends it, with the screen given back first', async () => {
  const { clock, seen, done } = following(() =>
    Promise.reject(new CommandError('no such key', 'yours', 'give another')),
  );
  await clock.advance(100);
  await expect(done).rejects.toThrow('no such key');
  expect(seen.isOpen).toBe(false);
});

test('an unexpected error ends it too, with the screen given back first', async () => {
  const { clock, seen, done } = following(() => Promise.reject(new TypeError('a bug')));
  await clock.advance(100);
  await expect(done).rejects.toThrow('a bug');
  expect(seen.isOpen).toBe(false);
});

test('a screen of another size is drawn at once', async () => {
  const { clock, seen, end, resize, done } = following(() => Promise.resolve(fakeFleetAnswer()));
  await clock.advance(100);
  const { drawn } = seen;
  seen.columns = 40;
  resize();
  await settled();
  expect(seen.drawn).toBe(drawn + 1);
  expect(Math.max(...seen.text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40);
  end();
  await done;
});
