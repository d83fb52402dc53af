/**
 * Milliseconds of a clock that only goes forward. Not `performance.now()`: its first use loads all of `perf_hooks`, which
 * takes a fresh sandboxd 5 ms, as much as its first answer.
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
