import { Failure } from '../failure/failure.ts';
import type { Grader, Item, Json } from '../model/grader.ts';
import { graderLeaves } from '../model/grader-leaves.ts';
import type { JudgeBody, JudgeRequest } from '../ports/judge.ts';
import { nothingAttached } from './attachments.ts';
import type { Leaf, Sample } from './graders/evaluation.ts';
import { noStory, writtenStory } from './story.ts';
import { redacted } from './told-why.ts';

export type SecretDeps = {
  /** Resolves `{secret: NAME}`; undefined when this gateway does not have it. */
  readonly secret: (name: string) => string | undefined;
};

/** `files`: members of the request, see `writtenFiles`; none where the judge is sent no files. */
export type Shown = { readonly calls: { readonly [name: string]: Json }; readonly files: JudgeBody };

type AskedOfJudge = Shown & {
  /** JSON, which goes on as it came, however deep it is and whatever numbers it holds. */
  readonly sample: string;
  readonly item: Item | null;
  readonly traceId: string;
};

/** What a judge is sent. Throws `grader_failed` where it needs a secret that is not here. */
export function judgeRequest(
  leaf: Leaf<'http'>,
  { sample, item, traceId, calls, files }: AskedOfJudge,
  secret: SecretDeps['secret'],
): JudgeRequest {
  const { url, timeoutMs, retries } = leaf;
  const asking = (answer: string, shown: Shown): JudgeBody => {
    const told = JSON.stringify({ item, trace_id: traceId, ...shown.calls }).slice(1, -1);
    return [`{"sample":${answer},${told}`, ...(shown.files.length > 0 ? [',', ...shown.files] : []), '}'];
  };
  const body = asking(sample, { calls, files });
  // Without calls: they are the policy's, and may be what is refused.
  const control = asking(JSON.stringify(sampleOfText(leaf.control)), nothingShown(leaf));
  const secrets = secretsOf({ secret }, leaf);
  return { url, headers: headersOf({ secret }, leaf), secrets, body, control, timeoutMs, retries };
}

/** What a judge is shown of a rollout that made no calls. */
export const nothingShown = ({ calls, attach }: Leaf<'http'>): Shown => ({
  calls: calls ? writtenStory(noStory) : {},
  files: attach ? nothingAttached : [],
});

function headersOf(deps: SecretDeps, leaf: Leaf<'http'>): Record<string, string> {
  const resolved = Object.entries(leaf.headers).map(([name, value]) => {
    if (typeof value === 'string') return [name, value];
    const secret = deps.secret(value.secret);
    if (secret !== undefined) return [name, secret];
    throw new Failure(
      'grader_failed',
      `the judge needs the secret ${value.secret}, which this gateway does not have`,
    );
  });
  return Object.fromEntries(resolved) as Record<string, string>;
}

/** A sample as platforms send it, of a rollout without calls that ends with this text. */
export function sampleOfText(text: string): Sample {
  const json = parsed(text);
  const message = { role: 'assistant', content: text, tool_calls: [] };
  return {
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    output_text: text,
    ...(json === undefined ? {} : { output_json: json }),
    output_tools: [],
  };
}

function parsed(text: string): Sample[string] | undefined {
  try {
    return JSON.parse(text) as Sample[string];
  } catch {
    return undefined;
  }
}

/** A text that leaves for a log or a file, without what the environment's judges are sent in secret. */
export const withoutSecretsOf = (deps: SecretDeps, grader: Grader, text: string): string =>
  redacted(text, secretsOf(deps, grader));

/** What a judge is sent in its headers; graders in sandboxes are given none. */
export function secretsOf({ secret }: SecretDeps, grader: Grader): ReadonlyMap<string, string> {
  const headers = graderLeaves(grader).flatMap((leaf) =>
    leaf.kind === 'http' ? Object.values(leaf.headers) : [],
  );
  return new Map(
    headers.flatMap((header) => {
      const value = typeof header === 'string' ? undefined : secret(header.secret);
      return typeof header === 'string' || value === undefined ? [] : [[header.secret, value] as const];
    }),
  );
}
