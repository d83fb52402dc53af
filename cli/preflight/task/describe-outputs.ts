/** As `control_outputs.py` of the Python client shows them. */
type Outputs = {
  readonly verifier: string | null;
  /** Null: no solution was played. */
  readonly solution: { readonly exitCode: number | null; readonly output: string | null } | null;
};

/** Of each output, in characters. The end of an output explains most. */
const longestSolutionEnd = 600;
const longestVerifierEnd = 900;
/** Of a reward that cannot be read, in characters. */
const longestReward = 80;

/** Both ends, in the order in which they explain a failure: first that of a solution whose command failed. */
export function describeOutputs({ verifier, solution }: Outputs): string {
  const verified = `The end of the verifier's output: ${endOf(verifier, longestVerifierEnd)}`;
  if (solution === null) return verified;
  const { exitCode, output } = solution;
  const end = endOf(output, longestSolutionEnd);
  if (exitCode === 0) return `${verified}\nThe end of the solution's output: ${end}`;
  const how = exitCode === null ? 'did not end by itself' : `exited with ${exitCode}`;
  return `The solution's command ${how}, and its output ends with: ${end}\n${verified}`;
}

/** What a verifier left if it left no reward that can be read. */
export function describeMissing(json: string | null, text: string | null): string {
  const name = json === null ? 'reward.txt' : 'reward.json';
  const content = (json ?? text)?.trim().slice(0, longestReward);
  if (content === undefined) return 'left no reward';
  const shown = content === '' ? 'is empty' : `begins with ${JSON.stringify(content)}`;
  return `left a reward that cannot be read: ${name} ${shown}`;
}

const endOf = (output: string | null, longest: number): string =>
  output?.trim().slice(-longest) || '(nothing)';
