import { shellEnvironment } from './fleet-folders.ts';

/** A rollout of the RFT face holds its sandbox until it is idle, so that all rollouts of all files must have room. */
const shell = shellEnvironment.replace('max: 8', 'max: 40');

const minimal = (name: string, lines: string, minReady = 1) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, processes: 64 }
${lines}
pool: { min_ready: ${minReady}, max: 12 }
`;

const shellTool = 'tools: { shell: { builtin: shell } }';
const byAnswer = 'grader: { kind: text, reference: item.answer }';

/** The environments of the fleet that tests share, each by its name. */
export const sharedEnvironments = {
  shell,
  other: shell.replace('name: shell', 'name: other').replace('min_ready: 2', 'min_ready: 0'),
  rooted: shell
    .replace('name: shell', 'name: rooted')
    .replace('host,', 'host, run_as: root,')
    .replace('min_ready: 2', 'min_ready: 1'),
  'brief-limits': minimal(
    'brief-limits',
    `tools: { shell: { builtin: shell, timeout: 1s } }\nlimits: { tool_calls: 2 }\n${byAnswer}`,
  ),
  'exposed-repo': minimal(
    'exposed-repo',
    `expose: [repo]\nsetup: [[sh, -c, 'echo "$1" > repo', sh, '{item.repo}']]\n${shellTool}\n${byAnswer}`,
  ),
  /** No warm sandbox: setup fails in each of them. */
  'failing-setup': minimal(
    'failing-setup',
    `setup: [[sh, -c, 'echo "the corpus is not here" >&2; exit 3']]\n${shellTool}\n${byAnswer}`,
    0,
  ),
  'no-number': minimal(
    'no-number',
    `${shellTool}
grader:
  kind: command
  command: [sh, -c, 'echo splendid > "$CORRAL_SCORE_FILE"']
  on_exit: discard
  on_timeout: discard
  on_out_of_memory: discard
  on_broken: discard`,
  ),
  ungraded: minimal('ungraded', 'grader: { kind: none }'),
} as const satisfies Readonly<Record<string, string>>;

export type SharedEnvironment = keyof typeof sharedEnvironments;
