/**
 * The tools of a sandbox's browser, and what its image must have for them. Their client and server are as those of terminals
 * (`terminals.ts`): the client is the same program, and the server has another socket and a life of its own.
 */
export const browserTools = [
  'browser_goto',
  'browser_click',
  'browser_type',
  'browser_read',
  'browser_screenshot',
] as const;
export type BrowserTool = (typeof browserTools)[number];

export const isBrowserTool = (name: string): name is BrowserTool =>
  browserTools.some((each) => each === name);

/** Debian's Chromium itself. The script in front of it, `/usr/bin/chromium`, needs a shell and files in `/etc`. */
export const chromiumPath = '/usr/lib/chromium/chromium';

/** What a page is laid out for, and the size of a screenshot. */
export const browserWindow = { width: 1280, height: 720 } as const;
