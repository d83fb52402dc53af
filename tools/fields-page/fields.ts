/** What a field of an environment file means: for docs/environments/fields.md and, as hover texts of editors, `schemas/environment.schema.json`. */
export type Field = {
  /** What holds without the field; null where it is required or nothing holds. */
  readonly default: string | null;
  readonly meaning: string;
  /** More than a cell of a table holds. */
  readonly more?: string;
};

/** The file itself, `sandbox` and `pool`. Links lead from `docs/environments/`. */
export const environmentFields: Readonly<Record<string, Field>> = {
  name: { default: null, meaning: 'lower-case letters, digits and dashes; part of the URLs' },
  description: { default: 'empty', meaning: 'one line for people' },
  'sandbox.image': {
    default: null,
    meaning:
      '`host`: this machine’s programs. `rootfs:PATH`: a folder. `{from, allow}`: the row’s. Else a reference, or an archive. [Images](images.md)',
  },
  'sandbox.cpu': {
    default: '`{request: 100m, limit: 1}`',
    meaning: 'one amount, or `{request, limit}`, with `from` [if rows demand more](demands.md)',
  },
  'sandbox.memory': {
    default: '`512Mi`',
    meaning: 'one amount, or `{request, limit}`, with `from` [if rows demand more](demands.md)',
    more: 'One machine has no requests. On a cluster a request below the limit packs more sandboxes onto a node, [at a cost](../nodes.md#memory-and-disk-of-nodes).',
  },
  'sandbox.disk': {
    default: '`1Gi`',
    meaning: 'one amount, or `{limit, from}` [if rows demand more](demands.md)',
    more: 'The limit of the workspace, `/tmp`, `/var/tmp`, the home and `sandbox.folders` together. Over [an image’s folder](images.md#a-writable-root) it limits everything that the sandbox writes.',
  },
  'sandbox.shm': {
    default: '`64Mi`',
    meaning: 'one amount, or `{limit, from}`: the size of `/dev/shm`, which counts within `memory`',
  },
  'sandbox.devices': {
    default: 'none',
    meaning: 'whole devices of a cluster’s nodes, by name: `{nvidia.com/gpu: 1}`. [GPUs](images.md#gpus)',
  },
  'sandbox.processes': { default: '`256`', meaning: 'processes and threads at once' },
  'sandbox.network': {
    default: '`none`',
    meaning:
      '`none`, `{mirrors: {pypi: ADDRESS, …}}`, or a class that the operator defined. [Network](network.md)',
  },
  'sandbox.run_as': {
    default: '`user`',
    meaning: '`user` or `root`',
    more: '`root` runs commands under the id of sandboxd, so a command can kill it. If sandboxd is killed during a command, the model did it. A `command` grader needs `grade_in: fresh`.',
  },
  'sandbox.uid': {
    default: '`separate`',
    meaning: '`separate` or `single`, for clusters where ids cannot be switched',
    more: 'With `single`, sandboxd and all commands share one ordinary id (Pod Security `restricted`). A command can stop sandboxd and read what a grader placed, as with `root`. One machine ignores it. See [restricted namespaces](../restricted-namespaces.md).',
  },
  'sandbox.runtime_class': {
    default: 'the operator’s',
    meaning: 'RuntimeClass of a cluster, such as gVisor or Kata; one machine has none and refuses it',
  },
  'sandbox.priority_class': { default: 'the operator’s', meaning: 'PriorityClass of a cluster' },
  'sandbox.node_selector': {
    default: 'the operator’s',
    meaning: 'labels that a node must have: `{pool: rollouts}`',
  },
  'sandbox.tolerations': {
    default: 'the operator’s',
    meaning:
      'taints of nodes that are accepted: `[{key, value, effect}]`; without `value` any value, without `effect` any effect',
  },
  'sandbox.labels': { default: 'none', meaning: 'labels of every sandbox, for the operator’s own tools' },
  'sandbox.env': {
    default: 'none',
    meaning: 'variables of every command; names that begin with `CORRAL_` are reserved',
  },
  'sandbox.data': {
    default: 'none',
    meaning: 'read-only data: `[{source, target}]`, `[{build, inputs, target}]` or `[{image, target}]`',
    more: '`source` is a folder of this machine, mounted at `target`. `build` is [a program that makes the data once](data.md#data-that-is-built-once). `image` is for a cluster: what an image holds.',
  },
  'sandbox.folders': {
    default: 'none',
    meaning:
      'at most 16 more writable folders, empty at the start: `[/logs/verifier, /tests]`. Others: [what commands find](images.md#what-commands-find)',
    more: 'They hide what the image has there, but not over [an image’s folder](images.md#a-writable-root). Folders of programs, settings and Corral (`/usr`, `/etc`, `/run`, …) are refused. On one machine they share the disk with the workspace. On a cluster each may be filled up to it, and the container’s limit holds all together.',
  },
  'sandbox.workdir': {
    default: null,
    meaning:
      '`read_only`: tasks only read the image’s working directory. Without it, a rollout is refused if its commands cannot write there',
  },
  'sandbox.network_waived': {
    default: '`false`',
    meaning:
      '`true`: tasks that [require](../api.md#what-a-task-requires) a public network also work without one and are not refused',
  },
  'sandbox.prepare': {
    default: 'none',
    meaning: 'commands before the sandbox is ready; they know no task, so warm sandboxes have them done',
  },
  'sandbox.start_timeout': {
    default: '`60s`',
    meaning:
      'from the engine having accepted the sandbox to ready, with `prepare`; being accepted may take as long again',
  },
  setup: {
    default: 'none',
    meaning: 'commands after a rollout got its sandbox and before its first call; never charged to a call',
    more: 'A list of at most 32 commands, or `{commands, timeout}` (`60s` each; 36 min together).',
  },
  sessions: {
    default: 'none',
    meaning:
      '`[terminal, browser]` gives the model [terminals and a browser that stay open between calls](sessions.md)',
  },
  expose: { default: 'none', meaning: 'fields of the row that may enter the sandbox' },
  tools: {
    default: null,
    meaning: '[tools](tools.md) by name, not `exec`. Optional with `grader: {kind: none}`',
  },
  limits: { default: '[limits](#limits)', meaning: 'time, calls and output of a rollout' },
  grader: { default: null, meaning: '[how rollouts are scored](graders.md)' },
  grader_sandbox: {
    default: 'as `sandbox`',
    meaning: 'the sandbox of graders with [`grade_in: fresh`](graders.md#grading-where-the-policy-never-was)',
  },
  unseen_calls: {
    default: '`discard`',
    meaning: '`discard` or `report`: what happens to a grade that names calls which never arrived',
    more: 'Such calls were lost between the platform and the gateway. `discard`: the rollout is not scored (`rollout_unknown`). `report`: it is scored, and the detail counts them. A call of an unknown tool, or with wrong arguments, would have run nothing and does not count. For one hard life after Redis was replaced `discard` holds in any case.',
  },
  on_too_long: {
    default: '`0`',
    meaning:
      'the score of a rollout whose final answer makes its sample larger than 1 MiB and 64 KiB, never a discard',
    more: 'If a wrong answer scores less than 0, set this, too.',
  },
  texts: {
    default: '[texts](tools.md#what-the-model-reads)',
    meaning: 'every sentence of Corral’s that the model can see',
  },
  keep: {
    default: '`no`',
    meaning: '`graded`, `all` or `no`: which rollouts are kept',
    more: '`graded` keeps graded rollouts as their grader saw them, for [a newer grader](../regrade.md). `all` also keeps what each call asked and returned, of [running and discarded rollouts too](../regrade.md#texts-of-calls). `true` and `false` mean `graded` and `no`.',
  },
  dataset: {
    default: 'none',
    meaning: 'its rows and its prompt: [`{train, eval, prompt, disjoint}`](data.md#rows-and-prompt)',
  },
  'pool.min_ready': {
    default: '`1`',
    meaning: 'sandboxes kept ready; `0`, and nothing else, if each row names its image',
  },
  'pool.max': {
    default: '`100`',
    meaning: 'sandboxes at most; if each row names its image, of all of them together',
  },
  'pool.max_age': { default: '`1h`', meaning: 'a ready sandbox older than this is replaced' },
  'pool.grader': {
    default: '`{min_ready: 1}`',
    meaning:
      'sandboxes of graders with [`grade_in: fresh`](graders.md#grading-where-the-policy-never-was): `min_ready`, and `max`, their share of `pool.max`',
  },
};

export const limitFields: Readonly<Record<string, Field>> = {
  tool_calls: {
    default: '`40`',
    meaning: 'further calls run nothing and get a sentence that says so; at most 4000, and 48 at once',
  },
  output_bytes: {
    default: '`65536`',
    meaning: 'of one output as the model gets it, JSON-encoded; at most 262144',
  },
  rollout: {
    default: '`30m`',
    meaning: 'from the first call. Later calls get a sentence that says so, and the grader still runs',
    more: 'Cutting slow rollouts would bias what is learned. A call that [waits in its sandbox](../environments.md#calls-that-wait-for-one-another) until then gets the sentence, too.',
  },
  idle: {
    default: '`15m`',
    meaning: 'after the last call’s end; no request announces that a rollout is over',
  },
  grade: {
    default: '`30m`',
    meaning: 'not shorter than all of the grader’s timeouts together, with 30 s for each program',
  },
  hard_life: {
    default: '`2h`',
    meaning:
      'the sandbox ends then, whatever happens; not shorter than `rollout`, the longest tool’s `timeout` and `grade` together',
  },
};

export const toolFields: Readonly<Record<string, Field>> = {
  command: {
    default: null,
    meaning:
      'the program and its arguments. A program that no argument names must exist before the first call, or every rollout is `setup_failed`',
  },
  builtin: {
    default: null,
    meaning: 'instead of `command`: `shell` (`sh -c`), `read_file`, `write_file`, `list_files` or `search`',
  },
  index: { default: null, meaning: 'instead of `command`: [a query](tools.md#tools-that-are-queries)' },
  description: {
    default: 'a plain one',
    meaning: 'what the model reads; say that each call is a fresh process',
  },
  parameters: {
    default: 'every `{placeholder}` is a required text',
    meaning: '[short, or a JSON schema](tools.md#parameters)',
  },
  timeout: {
    default: '`120s`',
    meaning:
      'of one call, at most `1h`; the RFT face cuts it to 8 minutes. Its clock [pauses on a busy machine](tools.md#timeouts-on-a-busy-machine)',
  },
  dependency: {
    default: 'none',
    meaning:
      '[a backend outside the sandbox](tools.md#tools-that-need-a-backend), and the exit code that reports its failure',
  },
  idempotent: { default: '`false`', meaning: 'only with `dependency`: a call may run twice without harm' },
};
