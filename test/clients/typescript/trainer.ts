import { existsSync } from 'node:fs';
import { expect } from 'vitest';
import { Client, Rollout, type RolloutOptions } from '#clients/typescript/src/index.ts';
import type { FleetOfTest } from '#test/support/fleet.ts';

/* A trainer with the client on a real fleet, and what a test does to its rollouts. */

const size = 'disk: 64Mi, memory: 128Mi, processes: 64';
const tools = 'tools: { shell: { builtin: shell, timeout: 5s } }';
const limits = 'limits: { rollout: 10m, idle: 5m }';
const counted = (name: string, before = '', bounds = limits) => `
name: ${name}
sandbox: { image: host, ${size} }
${tools}
grader:
  kind: command
  command: [sh, -c, '${before}as-policy sh -c "wc -l < calls" > "$CORRAL_SCORE_FILE"']
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
${bounds}
pool: { min_ready: 4, max: 12 }
`;
/** The environments of the Python client's tests, by name. */
export const environments = {
  counting: counted('counting'),
  /** The grade of a gateway that died is asked for again soon. */
  faulty: counted('faulty', '', '  timeout: 5s\nlimits: { rollout: 10m, idle: 5m, grade: 85s }'),
  'slow-grader': counted('slow-grader', 'sleep 4; '),
  'own-score': `
name: own-score
sandbox: { image: host, ${size} }
${tools}
grader: { kind: none }
${limits}
pool: { min_ready: 1, max: 8 }
`,
  brief: `
name: brief
sandbox: { image: host, disk: 64Mi }
${tools}
grader: { kind: text, reference: item.answer }
limits: { idle: 8s }
pool: { min_ready: 1, max: 6 }
`,
  narrow: `
name: narrow
sandbox: { image: host, disk: 48Mi }
${tools}
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 1 }
`,
  debugging: `
name: debugging
sandbox: { image: host, ${size.replace('128Mi', '256Mi')} }
sessions: [terminal]
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 4 }
`,
  rooted: `
name: rooted
sandbox: { image: host, run_as: root, disk: 64Mi, processes: 64 }
${tools}
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 4 }
`,
};

export function trainerOn(corral: () => FleetOfTest) {
  const client = (holdS?: number) =>
    new Client({
      url: corral().fleet.gatewayUrl,
      key: corral().fleet.apiKey,
      run: 'development',
      ...(holdS === undefined ? {} : { holdS }),
    });
  const view = async (rollout: string) =>
    (await corral().native.get(`/v1/rollouts/${rollout}`)).body as Record<string, unknown>;
  return {
    client,
    view,
    open: (environment: string, options: RolloutOptions = {}) =>
      new Rollout(environment, { client: client(), ...options }),
    /** Until its first process has ended: what it answers before is true. */
    killSandbox: async ({ rolloutId }: Rollout): Promise<void> => {
      const { pid } = await corral().sandboxOf(rolloutId);
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
    },
    inFlight: (rollout: Rollout) =>
      expect.poll(() => view(rollout.rolloutId)).toMatchObject({ in_flight: 1 }),
  };
}

export async function append(rollout: Rollout, times: number, command = 'echo x >> calls'): Promise<void> {
  for (let done = 0; done < times; done += 1)
    expect((await rollout.call('shell', { command })).exitCode).toBe(0);
}
