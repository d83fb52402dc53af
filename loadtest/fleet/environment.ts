import { brokenGraderScore } from '../trainer/judge.ts';

export const environmentName = 'soak';

const minuteMs = 60_000;

/**
 * The environment of a soak as YAML: limits as in production, divided by `speed`. The grader counts the lines of the
 * evidence file, which is there for every rollout that made a call.
 */
export function soakEnvironment(
  speed: number,
  pool: { readonly minReady: number; readonly max: number },
): string {
  const scaled = (durationMs: number) => `${Math.round(durationMs / speed)}ms`;
  // A rollout, its last call and its grade; a fast soak's sandboxes still outlive what hurts them.
  const hardLifeMs = Math.max(10 * minuteMs, Math.round((45 * minuteMs) / speed));
  return `
name: ${environmentName}
sandbox: { image: host, memory: 96Mi, disk: 16Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: ${scaled(8 * minuteMs)} } }
limits: { tool_calls: 200, rollout: ${scaled(30 * minuteMs)}, idle: ${scaled(15 * minuteMs)}, grade: 90s, hard_life: ${hardLifeMs}ms }
grader:
  kind: command
  command: [sh, -c, 'as-policy sh -c "cat calls 2>/dev/null | wc -l" > "$CORRAL_SCORE_FILE"']
  timeout: 30s
  on_exit: ${brokenGraderScore}
  on_timeout: ${brokenGraderScore}
  on_out_of_memory: ${brokenGraderScore}
  on_broken: ${brokenGraderScore}
pool: { min_ready: ${pool.minReady}, max: ${pool.max} }
`;
}
