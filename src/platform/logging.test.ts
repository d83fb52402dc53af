import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createLogger, errorFields } from './logging.ts';

test('a line is one JSON object with time, level, service, message and fields; lower levels are not written', () => {
  const lines: string[] = [];
  const log = createLogger({
    service: 'controller',
    level: 'info',
    clock: createFakeClock(0),
    write: (line) => lines.push(line),
  });
  log.debug('too quiet');
  log.warn('launch failed', { code: 'start_timeout', step: 'probe' });
  expect(lines).toEqual([
    '{"time":"1970-01-01T00:00:00.000Z","level":"warn","service":"controller","message":"launch failed","code":"start_timeout","step":"probe"}\n',
  ]);
});

test('an error is logged by its message and code, anything else by its text', () => {
  expect(errorFields(Object.assign(new Error('gone'), { code: 'ENOENT' }))).toEqual({
    error: 'gone',
    code: 'ENOENT',
  });
  expect(errorFields('odd')).toEqual({ error: 'odd' });
});
