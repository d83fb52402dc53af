/** Values that a log line may carry: flat, printable, and never a secret. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Lines for an operator. What a trainer must learn is evidence of a failure, not a log line. */
export type Log = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;
