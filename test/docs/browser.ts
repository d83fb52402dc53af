import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type DevTools, connectDevTools } from './dev-tools.ts';

export type View = { readonly width: number; readonly scheme: 'light' | 'dark' };

const flags = [
  '--headless=new',
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--hide-scrollbars',
];

/** Debian's Chromium with one tab, driven by its own protocol. */
export async function startBrowser() {
  const profile = await mkdtemp(join(tmpdir(), 'corral-browser-'));
  const child = spawn(
    'chromium',
    [...flags, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const tools = await connectDevTools(await tabOf(createInterface(child.stderr)));
  await tools.send('Page.enable');
  await tools.send('Network.enable');
  return {
    page: pageOf(tools),
    async stop(): Promise<void> {
      tools.close();
      child.kill();
      await once(child, 'close');
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const Tabs = Type.Array(Type.Object({ type: Type.String(), webSocketDebuggerUrl: Type.String() }));

/** The address of the first tab, which the browser names when it is ready. */
async function tabOf(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const [, host] = /DevTools listening on ws:\/\/([^/]+)\//.exec(line) ?? [];
    if (host === undefined) continue;
    const tabs = Value.Parse(Tabs, await (await fetch(`http://${host}/json/list`)).json());
    const tab = tabs.find(({ type }) => type === 'page');
    if (tab !== undefined) return tab.webSocketDebuggerUrl;
  }
  throw new Error('Chromium ended before it had a tab');
}

const Evaluated = Type.Object({
  result: Type.Object({ value: Type.Optional(Type.Unknown()) }),
  exceptionDetails: Type.Optional(Type.Object({ text: Type.String() })),
});
const Finished = Type.Object({ encodedDataLength: Type.Number() });
const Picture = Type.Object({ data: Type.String() });

function pageOf(tools: DevTools) {
  return {
    /** Opens an address without a cache; resolves with the bytes that came over the network until it was idle. */
    async open(url: string, { width, scheme }: View): Promise<number> {
      await tools.send('Emulation.setDeviceMetricsOverride', metrics(width));
      await tools.send('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: scheme }],
      });
      await tools.send('Network.setCacheDisabled', { cacheDisabled: true });
      await tools.send('Page.setLifecycleEventsEnabled', { enabled: true });
      const loads = tools.collect('Network.loadingFinished');
      const idle = tools.next('Page.lifecycleEvent', (event) => isIdle(event));
      await tools.send('Page.navigate', { url });
      await idle;
      return loads
        .stop()
        .reduce((sum: number, load) => sum + Value.Parse(Finished, load).encodedDataLength, 0);
    },
    /** What an expression makes, awaited. */
    async evaluate<Schema extends Type.TSchema>(expression: string, schema: Schema): Promise<Static<Schema>> {
      const parameters = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = Value.Parse(
        Evaluated,
        await tools.send('Runtime.evaluate', parameters),
      );
      if (exceptionDetails !== undefined)
        throw new Error(`${exceptionDetails.text}: ${expression.slice(0, 200)}`);
      return Value.Parse(schema, result.value);
    },
    async type(text: string): Promise<void> {
      await tools.send('Input.insertText', { text });
    },
    async screenshot(): Promise<Buffer> {
      const { data } = Value.Parse(Picture, await tools.send('Page.captureScreenshot', { format: 'png' }));
      return Buffer.from(data, 'base64');
    },
  };
}

const metrics = (width: number) => ({ width, height: 900, deviceScaleFactor: 1, mobile: width < 600 });

const Lifecycle = Type.Object({ name: Type.Literal('networkIdle') });
const isIdle = (event: unknown): boolean => Value.Check(Lifecycle, event);
