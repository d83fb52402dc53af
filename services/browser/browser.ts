import { writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { ToolArguments, ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';
import { browserWindow, type BrowserTool, isBrowserTool } from '#src/protocol/sandboxd/browser.ts';
import {
  longestTerminalWaitS,
  type TerminalRequest,
  usualTerminalWaitS,
} from '#src/protocol/sandboxd/terminals.ts';
import { findElement, type Wanted } from './find.ts';
import { type Box, Page } from './page.ts';
import { describe, type Element, outline } from './tree.ts';

type Wait = { readonly text: string | undefined; readonly timeoutMs: number };

/** The browser of a sandbox, with one page. Calls wait for one another. */
export class Browser {
  readonly #folder: string;
  #page: Page | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** `folder`: where it may keep files. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** What the model reads. Throws {@link ToolError}. */
  answer(request: TerminalRequest): Promise<string> {
    const { tool } = request;
    if (!isBrowserTool(tool)) throw new ToolError(`there is no tool ${tool}`);
    const values = new ToolArguments(request.arguments);
    const answered = this.#last.then(() => this.#tools[tool](values, request));
    this.#last = answered.catch(() => {});
    return answered;
  }

  readonly #tools: Readonly<
    Record<BrowserTool, (values: ToolArguments, request: TerminalRequest) => Promise<string>>
  > = {
    browser_goto: (values, { env }) => this.#goto(values, env),
    browser_click: (values) => this.#act(values, (page, element) => page.click(element)),
    browser_type: (values) => this.#act(values, (page, element) => typeInto(page, element, values)),
    browser_read: (values) => this.#show(this.#open(), waitOf(values), performance.now()),
    browser_screenshot: (values, { cwd }) => this.#shoot(values, cwd),
  };

  async #goto(values: ToolArguments, env: TerminalRequest['env']): Promise<string> {
    const url = values.text('url');
    const wait = waitOf(values);
    if (!URL.canParse(url))
      throw new ToolError(`${JSON.stringify(url)} is not an address such as http://localhost:8000/`);
    if (this.#page?.hasEnded !== false) this.#page = await Page.open(this.#folder, env);
    const page = this.#page;
    const sinceMs = performance.now();
    await page.goto(url, wait.timeoutMs);
    return this.#show(page, wait, sinceMs);
  }

  async #act(values: ToolArguments, act: (page: Page, element: Element) => Promise<void>): Promise<string> {
    const page = this.#open();
    const wait = waitOf(values);
    await act(page, findElement(await page.elements(), wantedOf(values)));
    return this.#show(page, wait, performance.now());
  }

  async #shoot(values: ToolArguments, cwd: string): Promise<string> {
    const page = this.#open();
    const path = values.optionalText('path') ?? 'screenshot.png';
    const bytes = await page.png();
    save(resolve(cwd, path), bytes);
    const { width, height } = browserWindow;
    const head = `[screenshot of ${await page.where()}: ${path}, ${width} x ${height}, ${bytes.length} bytes]`;
    return `${head}\n${await inView(page)}\n`;
  }

  #open(): Page {
    if (this.#page?.hasEnded === false) return this.#page;
    throw new ToolError('no page is open; browser_goto opens one');
  }

  async #show(page: Page, { text, timeoutMs }: Wait, sinceMs: number): Promise<string> {
    const untilMs = sinceMs + timeoutMs;
    await page.settle(untilMs);
    let shown = outline(await page.elements());
    const isThere = () => text === undefined || shown.includes(text);
    while (!isThere() && performance.now() < untilMs) {
      await page.settle(untilMs);
      shown = outline(await page.elements());
    }
    const lacks = !isThere();
    const state = lacks ? `, no ${JSON.stringify(text)} within ${timeoutMs / 1000} s` : '';
    const loading = page.isLoading ? ', still loading' : '';
    const head = [`page ${await page.where()}${loading}${state}`, ...page.takeNotes()];
    return `${head.map((line) => `[${line}]`).join('\n')}\n${shown}\n`;
  }
}

async function typeInto(page: Page, element: Element, values: ToolArguments): Promise<void> {
  const submit = values.flag('submit');
  await page.type(element, values.text('text'));
  if (submit) await page.enter();
}

function waitOf(values: ToolArguments): Wait {
  const seconds = values.optionalNumber('timeout_s', 1) ?? usualTerminalWaitS;
  if (seconds > longestTerminalWaitS)
    throw new ToolError(`timeout_s must be at most ${longestTerminalWaitS}`);
  return { text: values.optionalText('wait_for'), timeoutMs: seconds * 1000 };
}

const wantedOf = (values: ToolArguments): Wanted => ({
  role: values.text('role'),
  name: values.optionalText('name'),
  nth: values.optionalNumber('nth', 1),
});

/** Each of them is asked for by itself. */
const mostPlaced = 100;

/** What a person sees in the window, and where. */
async function inView(page: Page): Promise<string> {
  const lines: string[] = [];
  for (const element of await page.elements()) {
    if (lines.length >= mostPlaced) break;
    const box = await page.box(element.node);
    if (box !== null && isInWindow(box)) lines.push(`- ${describe(element)} at ${placeOf(box)}`);
  }
  return lines.join('\n');
}

const isInWindow = ({ left, top, right, bottom }: Box): boolean =>
  right > 0 && bottom > 0 && left < browserWindow.width && top < browserWindow.height;

const placeOf = ({ left, top, right, bottom }: Box): string =>
  `${Math.round(left)},${Math.round(top)} ${Math.round(right - left)}x${Math.round(bottom - top)}`;

function save(path: string, bytes: Buffer): void {
  try {
    writeFileSync(path, bytes);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolError(`${basename(path)} cannot be written: ${why}`);
  }
}
