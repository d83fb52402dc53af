import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';
import { browserWindow, chromiumPath } from '#src/protocol/sandboxd/browser.ts';
import { DevTools, type Event } from './dev-tools.ts';

/**
 * The sandbox is what isolates it: Chromium's own needs namespaces that a sandbox may forbid. Shared memory is a file in /tmp, since
 * /dev/shm may be small. Nothing is fetched that no page asks for. All pages share one process, each of whose threads counts.
 */
const flags = [
  '--headless --no-sandbox --no-zygote --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe',
  '--disable-background-networking --disable-component-update --disable-sync --disable-extensions',
  '--disable-breakpad --disable-crash-reporter --no-first-run --no-default-browser-check --no-pings',
  '--mute-audio --hide-scrollbars --password-store=basic --renderer-process-limit=1',
  '--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,OptimizationHints',
  `--window-size=${browserWindow.width},${browserWindow.height}`,
].flatMap((line) => line.split(' '));

export type Chromium = { readonly tools: DevTools; readonly end: () => void };

/**
 * Starts a browser whose files are below `folder`, and whose HOME is there, too: it writes nothing into the workspace. It ends when its
 * pipe does, so also with this process. Throws {@link ToolError}.
 */
export async function startChromium(
  folder: string,
  env: Readonly<Record<string, string>>,
  hear: (event: Event) => void,
): Promise<Chromium> {
  const home = mkdtempSync(join(folder, 'browser-'));
  const child = spawn(chromiumPath, [...flags, `--user-data-dir=${home}`, 'about:blank'], {
    cwd: '/',
    env: { ...env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const tools = toolsOf(child, hear);
  void once(child, 'exit')
    .catch(() => {})
    .then(() => {
      tools.end('the browser has ended');
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    });
  await once(child, 'spawn').catch((error: unknown) => {
    throw new ToolError(
      `the browser cannot start: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  return { tools, end: () => void child.kill('SIGKILL') };
}

function toolsOf({ stdio: [, , , input, output] }: ChildProcess, hear: (event: Event) => void): DevTools {
  if (!(input instanceof Writable) || !(output instanceof Readable))
    throw new ToolError('the browser has no pipe');
  return new DevTools(input, output, hear);
}
