import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/* Chromium with one tab, over a pipe: nothing listens, nothing is loaded, and no script of a page runs. */

const program = '/usr/lib/chromium/chromium';

const flags = [
  '--headless=new',
  '--remote-debugging-pipe',
  '--no-sandbox',
  '--no-first-run',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-breakpad',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-lcd-text',
  '--hide-scrollbars',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--force-device-scale-factor=1',
  '--host-resolver-rules=MAP * ~NOTFOUND',
];

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
};

/** The browser or its tab died, or it refuses what is asked of it. */
export class BrowserDied extends Error {}

export type Tab = {
  /** Replaces the tab's document. */
  show(html: string): Promise<void>;
  evaluate(expression: string): Promise<unknown>;
  /** A PNG of the page. */
  picture(): Promise<Buffer>;
};

export const page = { width: 1280, height: 720 } as const;

/** `fonts`: the configuration of the only fonts that pages see. */
export async function withBrowser<Result>(
  fonts: string,
  work: (openTab: () => Promise<Tab>) => Promise<Result>,
): Promise<Result> {
  const home = mkdtempSync(join(tmpdir(), 'chromium-'));
  const child = spawn(program, [...flags, `--user-data-dir=${home}`, 'about:blank'], {
    env: { PATH: process.env['PATH'], HOME: home, TMPDIR: home, FONTCONFIG_FILE: fonts, LANG: 'C.UTF-8' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('error', () => reject(new BrowserDied('Chromium does not start')));
    child.once('close', () => reject(new BrowserDied('Chromium ended')));
  });
  const { send, crashed } = talk(child.stdio[3] as Writable, child.stdio[4] as Readable);
  try {
    return await Promise.race([work(() => openTab(send)), ended, crashed]);
  } finally {
    child.kill('SIGKILL');
    await closed;
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

type Send = (
  method: string,
  params?: object,
  sessionId?: string,
) => Promise<Readonly<Record<string, unknown>>>;

/** Messages of DevTools are JSON, each ended by a zero byte. */
function talk(input: Writable, output: Readable): { readonly send: Send; readonly crashed: Promise<never> } {
  const waiting = new Map<number, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  const crash = Promise.withResolvers<never>();
  let last = 0;
  let pieces: Buffer[] = [];
  input.on('error', () => crash.reject(new BrowserDied('Chromium hears nothing')));
  output.on('data', (data: Buffer) => {
    let rest = data;
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      hear(Buffer.concat([...pieces, rest.subarray(0, end)]).toString());
      pieces = [];
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) pieces.push(rest);
  });
  return { crashed: crash.promise, send };

  function hear(text: string): void {
    const message = JSON.parse(text) as Message;
    if (message.method === 'Inspector.targetCrashed' || message.method === 'Target.targetCrashed')
      crash.reject(new BrowserDied('the tab crashed'));
    const answer = message.id === undefined ? undefined : waiting.get(message.id);
    if (message.error !== undefined) answer?.reject(new BrowserDied(message.error.message));
    else answer?.resolve(message.result ?? {});
  }

  function send(method: string, params: object = {}, sessionId?: string) {
    last += 1;
    const answer = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    waiting.set(last, answer);
    input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    return answer.promise;
  }
}

async function openTab(send: Send): Promise<Tab> {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const attached = await send('Target.attachToTarget', { targetId, flatten: true });
  const sessionId = String(attached['sessionId']);
  const ask = (method: string, params: object = {}) => send(method, params, sessionId);
  await ask('Page.enable');
  await ask('Inspector.enable');
  await ask('Emulation.setScriptExecutionDisabled', { value: true });
  await ask('Emulation.setDeviceMetricsOverride', { ...page, deviceScaleFactor: 1, mobile: false });
  await ask('Network.enable');
  await ask('Network.emulateNetworkConditions', {
    offline: true,
    latency: 0,
    downloadThroughput: 0,
    uploadThroughput: 0,
  });
  const { frameTree } = (await ask('Page.getFrameTree')) as {
    readonly frameTree: { readonly frame: { readonly id: string } };
  };
  return {
    show: async (html) => void (await ask('Page.setDocumentContent', { frameId: frameTree.frame.id, html })),
    evaluate: async (expression) => {
      const { result, exceptionDetails } = await ask('Runtime.evaluate', { expression, returnByValue: true });
      if (exceptionDetails !== undefined)
        throw new BrowserDied(JSON.stringify(exceptionDetails).slice(0, 500));
      return (result as { readonly value?: unknown }).value;
    },
    picture: async () =>
      Buffer.from(
        String((await ask('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true }))['data']),
        'base64',
      ),
  };
}
