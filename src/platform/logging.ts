import { visibleLine } from '../model/visible-text.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log, LogFields, LogLevel } from '../ports/log.ts';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[];

export type LoggerOptions = {
  /** Which process writes: `gateway`, `controller`, `node`. */
  readonly service: string;
  readonly level: LogLevel;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Takes one whole line with its newline; default: standard error, which keeps standard output for results. */
  readonly write?: (line: string) => void;
};

/** One JSON object a line: time, level, service, message, then the fields. */
export function createLogger(options: LoggerOptions): Log {
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  const lowest = logLevels.indexOf(options.level);
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (logLevels.indexOf(level) < lowest) return;
      const time = new Date(options.clock.nowMs()).toISOString();
      const line = JSON.stringify({ time, level, service: options.service, message, ...fields });
      write(`${visibleLine(line)}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** What a log line says of something thrown: its message, and the code where it is one of ours or of the system's. */
export function errorFields(thrown: unknown): LogFields {
  if (!(thrown instanceof Error)) return { error: String(thrown) };
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
  return { error: thrown.message, ...(code === undefined ? {} : { code }) };
}
