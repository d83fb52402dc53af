/*
 * Commands write their own evidence. Each appends its call id to one file in the workspace, prints the whole file, and
 * only then does its work. So every output says which calls have run in this very sandbox: an id that is there twice
 * ran twice, and an id that is missing although its call was answered says that this is another machine.
 */

/** In the workspace, the folder that commands start in. */
export const evidenceFile = 'calls';

/** What ids look like, so that they are told apart from everything else in an output. */
const idPattern = /^call_[0-9a-z]{16}$/;

/** What a command does after it has written its evidence. */
export type Work = {
  /** Infinity: it never returns. */
  readonly sleepMs: number;
  /** Infinity: it prints until it is stopped. */
  readonly outputBytes: number;
  readonly mischief: Mischief | null;
};

/** What a policy does to its own sandbox; all of it is its own doing, none of it ours. */
export const mischiefs = {
  kills_what_it_can: 'kill -9 -1',
  fills_the_disk: 'head -c 1G /dev/zero > big; rm -f big; exit 1',
  eats_memory: 'exec tail /dev/zero',
  looks_out_of_memory: 'exit 137',
  ends_by_a_signal: 'kill -TERM $$',
  runs_what_is_not_there: 'exec not-there',
  prints_no_text: "printf '\\377\\376\\n'",
} as const;

export type Mischief = keyof typeof mischiefs;

/** The command of one call, for `sh -c`. What the shell itself complains of is not part of the evidence. */
export function commandOf(callId: string, work: Work): string {
  const steps = [
    'exec 2>/dev/null',
    `echo ${callId} >> ${evidenceFile}`,
    `cat ${evidenceFile}`,
    work.sleepMs === Infinity ? 'sleep infinity' : `sleep ${(work.sleepMs / 1000).toFixed(3)}`,
    fillerOf(work.outputBytes),
    ...(work.mischief === null ? [] : [mischiefs[work.mischief]]),
  ];
  return steps.join('; ');
}

const fillerOf = (bytes: number): string =>
  bytes === Infinity ? "tr '\\0' x < /dev/zero" : `head -c ${bytes} /dev/zero | tr '\\0' x; echo`;

/** The ids at the head of an output, in the order in which they ran, and what follows them. */
export function readEvidence(output: string): { readonly ids: readonly string[]; readonly rest: string } {
  const lines = output.split('\n');
  const end = lines.findIndex((line) => !idPattern.test(line));
  if (end === -1) return { ids: lines, rest: '' };
  return { ids: lines.slice(0, end), rest: lines.slice(end).join('\n') };
}

/** The sentences of an environment that a policy is meant to read; see docs/environments.md. */
const notes = [
  /^\[exit code \d+\]$/,
  /^\[killed by signal [A-Z0-9]+\]$/,
  /^\[timed out after [\d.]+ s\]$/,
  /^\[out of memory: [^\]]*\]$/,
  /^Error: all \d+ tool calls are used\./,
  /^Error: the \d+ minutes for this task are over\./,
  /^Error: an earlier command broke the sandbox /,
  /^Error: the sandbox went down while this command ran \(/,
];

/** What our commands print after their evidence: nothing, filler, bytes that are no text, and the place of a cut. */
const printed = /^(x*(\[\d+ bytes cut\])?x*|\u{FFFD}+)$/u;

/** The lines that neither a command of ours printed nor an environment says to its policy: something of the machinery. */
export function foreignLines(rest: string): readonly string[] {
  return rest.split('\n').filter((line) => !printed.test(line) && !notes.some((note) => note.test(line)));
}

/** Whether an output says that its command was stopped, or not begun, so that its own id may be missing. */
export function saysWhyItMayNotHaveRun(rest: string): boolean {
  return /^(\[killed by|\[timed out|\[out of memory|Error: )/m.test(rest);
}
