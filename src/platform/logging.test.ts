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

test('text of a policy in a line is no order to a terminal, and stays the same data', () => {
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const log = createLogger({ service: 'gateway', level: 'info', clock: createFakeClock(0), write });
  log.warn('grader failed', { said: '\u009B2J\u202Etxt' });
  expect(lines[0]).toContain(String.raw`"said":"\u009b2J\u202etxt"`);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ said: '\u009B2J\u202Etxt' });
});

test('an error is logged by its message and code, anything else by its text', () => {
  expect(errorFields(Object.assign(new Error('gone'), { code: 'ENOENT' }))).toEqual({
    error: 'gone',
    code: 'ENOENT',
  });
  expect(errorFields('odd')).toEqual({ error: 'odd' });
});
