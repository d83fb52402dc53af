import type { Log, LogFields, LogLevel } from '#src/ports/log.ts';

export type FakeLog = Log & {
  readonly lines: { readonly level: LogLevel; readonly message: string; readonly fields: LogFields }[];
};

/** Keeps what was logged. */
export function createFakeLog(): FakeLog {
  const lines: FakeLog['lines'] = [];
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
