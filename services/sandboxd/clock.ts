/**
 * Milliseconds of a clock that only goes forward. Not `performance.now()`: its first use loads all of `perf_hooks`, which
 * is a quarter of what a fresh sandboxd's first answer takes.
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
