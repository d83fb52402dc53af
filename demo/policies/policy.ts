import type { Random } from '#src/ports/random.ts';

/** What a policy is shown of a task: never the true files. */
export type Sight = { readonly repo: string; readonly request: string };

/** One tool call as a model writes it: the arguments are text, which may be anything. */
export type ToolUse = { readonly name: string; readonly arguments: string };

/** Makes the calls of one step, all at once, and gives their outputs in the same order. */
export type Act = (uses: readonly ToolUse[]) => Promise<readonly string[]>;

/** A script that stands where a model would: it decides by the outputs it really gets, no model is called. */
export type Policy = {
  readonly name: string;
  /** How it works, in a few words for the report. */
  readonly skill: string;
  /** Plays one rollout and returns its last message. `random` makes the copies of one task differ. */
  readonly play: (sight: Sight, act: Act, random: Random) => Promise<string>;
};

export const shell = (command: string): ToolUse => ({
  name: 'shell',
  arguments: JSON.stringify({ command }),
});

export const readFile = (path: string, startLine: number, endLine: number): ToolUse => ({
  name: 'read_file',
  arguments: JSON.stringify({ path: `repo/${path}`, start_line: startLine, end_line: endLine }),
});

/** The last message in the form that the grader reads: `output_json.files`. */
export const answer = (files: readonly string[]): string => JSON.stringify({ files });

/** The one call of a step that has only one. */
export async function actOnce(act: Act, use: ToolUse): Promise<string> {
  const [output] = await act([use]);
  return output ?? '';
}
