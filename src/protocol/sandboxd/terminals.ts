/**
 * What the client and the server of terminals in a sandbox agree on. Both are programs of the payload that run as the policy's user: the
 * client for the length of a call, the server from the first `terminal_open` to the end of the sandbox. A connection carries one
 * {@link TerminalRequest} as JSON to its end, and back one character and a text: {@link granted}, or {@link refused} with the reason.
 *
 * To {@link followTool} the server answers {@link followed}, then pieces of what the terminal prints: four bytes with the length, the lowest
 * first, and so many bytes. An empty piece is the last one. One of the answers above comes after it, so a stream without it broke off.
 */
export const terminalTools = ['terminal_open', 'terminal_send', 'terminal_read', 'terminal_close'] as const;
export type TerminalTool = (typeof terminalTools)[number];

export const isTerminalTool = (name: string): name is TerminalTool =>
  terminalTools.some((each) => each === name);

export type TerminalRequest = {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, string | number | boolean>>;
  /** Of the program that a terminal is opened for. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
};

/** Follows what a terminal prints, to the end of its program. It is no tool of a model. */
export const followTool = 'terminal_follow';

/** The screen of a terminal, or of the one that was opened last, at once and without a wait. For operators; it is no tool of a model. */
export const showTool = 'terminal_show';
/** Of what it answers: the largest screen in characters of four bytes, and what is open. */
export const longestScreenBytes = 128 * 1024;

export const granted = '+';
export const refused = '-';
export const followed = '~';

/** Of a request: more than the longest arguments of a call, with its variables. */
export const longestRequestBytes = 2 * 1024 * 1024;
/** Of a reply: the scrollback of a terminal of the largest size, in characters of four bytes. */
export const longestReplyBytes = 2 * 1024 * 1024;

/** The longest `timeout_s`: a call has time for it, and for a start of the server on a busy machine. */
export const longestTerminalWaitS = 60;
export const usualTerminalWaitS = 10;

export const terminalSize = { rows: { usual: 24, most: 100 }, columns: { usual: 80, most: 250 } } as const;
export const mostScrollbackLines = 1000;
