/** As docs/terminal-bench.md has it, for images of a pattern. Tasks that ask for a network are played without one, as in the container. */
export const strangersEnvironment = (images: string): string => `
name: strangers
sandbox:
  image: { from: item.image, allow: ["${images}"] }
  run_as: root
  network_waived: true
  cpu: { request: 1, limit: 2 }
  memory: 2Gi
  disk: 1Gi
  start_timeout: 5m
grader: { kind: none }
limits: { rollout: 2h, idle: 30m, hard_life: 4h }
pool: { min_ready: 0, max: 16 }
`;
