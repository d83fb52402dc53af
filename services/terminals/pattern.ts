import { RE2JS } from 're2js';
import { ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';

/** What a call waits for on a screen. */
export type Pattern = { readonly text: string; readonly matches: (screen: string) => boolean };

const longestPatternCharacters = 500;

/**
 * A text, or a regular expression in RE2's syntax, whose time grows only with the length of what it reads: one that backtracks could hold
 * up all terminals of the sandbox. Throws {@link ToolError}.
 */
export function parsePattern(text: string, isRegex: boolean): Pattern {
  if (text === '') throw new ToolError('wait_for must not be empty');
  if (text.length > longestPatternCharacters)
    throw new ToolError(`wait_for has more than ${longestPatternCharacters} characters`);
  return { text, matches: isRegex ? compile(text) : (screen) => screen.includes(text) };
}

function compile(text: string): Pattern['matches'] {
  try {
    const expression = RE2JS.compile(text, RE2JS.MULTILINE);
    return (screen) => expression.matcher(screen).find();
  } catch (error) {
    throw new ToolError(`wait_for: ${error instanceof Error ? error.message : String(error)}`);
  }
}
