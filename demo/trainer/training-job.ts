import { readObject } from './reading.ts';

/** What a training job is created with: static URLs and headers, as a hosted platform takes them. */
export type TrainingJob = {
  readonly tools: readonly Endpoint[];
  readonly grader: { readonly type: 'endpoint'; readonly url: string; readonly headers: Headers };
};

type Endpoint = { readonly name: string; readonly server_url: string; readonly headers: Headers };
type Headers = Readonly<Record<string, string>>;

/** The job of one run: the key and the run's name travel in the static headers, nowhere else. */
export function trainingJob(given: {
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly run: string;
  readonly environment: string;
  readonly tools: readonly string[];
}): TrainingJob {
  const base = `${given.gatewayUrl}/rft/${encodeURIComponent(given.environment)}`;
  const headers = { authorization: `Bearer ${given.apiKey}`, 'x-corral-run': given.run };
  const tool = (name: string) => ({ name, server_url: `${base}/tools/${encodeURIComponent(name)}`, headers });
  return {
    tools: given.tools.map(tool),
    grader: { type: 'endpoint', url: `${base}/grade`, headers },
  };
}

/** A tool by name and its arguments as JSON text. */
type NamedUse = { readonly name: string; readonly arguments: string };

export type MadeCall = { readonly callId: string; readonly use: NamedUse };

/** What the grader is sent of a rollout, in the shape of a chat completion. */
export function sampleOf(text: string, calls: readonly MadeCall[]) {
  return {
    choices: [{ message: { role: 'assistant', content: text, tool_calls: [] } }],
    output_text: text,
    output_json: readObject(text),
    output_tools: calls.map(({ callId, use }) => ({
      id: callId,
      type: 'function',
      function: { name: use.name, arguments: use.arguments },
    })),
  };
}
