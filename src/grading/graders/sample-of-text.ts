import type { Sample } from './evaluation.ts';

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
