import { readObject } from './reading.ts';

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
