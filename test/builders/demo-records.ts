import type { CallRecord, RolloutRecord } from '#demo/trainer/record.ts';

let made = 0;

/** A rollout of the demo with one call: a number is its score, a text the failure code it was discarded with. */
export function recordOf(
  task: string,
  end: number | string,
  change: Partial<RolloutRecord> = {},
): RolloutRecord {
  made += 1;
  return {
    rollout: `trace_${task}_${made}`,
    task,
    copy: made,
    policy: 'expert',
    startedMs: 0,
    endedMs: 900,
    calls: [callOf()],
    grading: { startedMs: 700, endedMs: 900 },
    ending:
      typeof end === 'number'
        ? { kind: 'scored', score: end }
        : { kind: 'discarded', code: end, cause: 'sandboxd_killed', at: 'grader', message: 'gone' },
    ...change,
  };
}

export function callOf(change: Partial<CallRecord> = {}): CallRecord {
  return {
    callId: 'call_1',
    tool: 'shell',
    startedMs: 0,
    endedMs: 400,
    status: 200,
    retries: 0,
    outputBytes: 100,
    leaked: false,
    ...change,
  };
}
