import { setTimeout as sleep } from 'node:timers/promises';
import { ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';
import { browserWindow } from '#src/protocol/sandboxd/browser.ts';
import { type Chromium, startChromium } from './chromium.ts';
import { type Event, type Fields, fieldsOf, listOf } from './dev-tools.ts';
import { type Element, elementsOf } from './tree.ts';

/** Until a page has begun to do what a click is for. */
const beginsWithinMs = 150;
const lookEveryMs = 50;
/** Of dialogs and windows that a page opens, between two calls. */
const mostNotes = 5;
const longestNote = 500;

export type Box = {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
};

/** The one page of a browser. Dialogs are accepted and windows that it opens are closed; both are noted. */
export class Page {
  readonly #browser: Chromium;
  readonly #session: string;
  readonly #frame: string;
  #isLoading = false;
  #notes: string[] = [];

  private constructor(browser: Chromium, session: string, frame: string) {
    this.#browser = browser;
    this.#session = session;
    this.#frame = frame;
  }

  static async open(folder: string, env: Readonly<Record<string, string>>): Promise<Page> {
    let page: Page | null = null;
    const browser = await startChromium(folder, env, (event) => page?.hear(event));
    try {
      const { targetInfos } = await browser.tools.ask('Target.getTargets');
      const first = listOf(targetInfos).find(({ type }) => type === 'page');
      const targetId = String(first?.['targetId']);
      const { sessionId } = await browser.tools.ask('Target.attachToTarget', { targetId, flatten: true });
      page = new Page(browser, String(sessionId), targetId);
      await page.#ask('Page.enable');
      await page.#ask('Inspector.enable');
      await page.#ask('Accessibility.enable');
      const { width, height } = browserWindow;
      await page.#ask('Emulation.setDeviceMetricsOverride', {
        width,
        height,
        deviceScaleFactor: 1,
        mobile: false,
      });
      await browser.tools.ask('Target.setDiscoverTargets', { discover: true });
      return page;
    } catch (error) {
      browser.end();
      throw error;
    }
  }

  get hasEnded(): boolean {
    return this.#browser.tools.hasEnded;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  end(): void {
    this.#browser.end();
  }

  takeNotes(): readonly string[] {
    const notes = this.#notes;
    this.#notes = [];
    return notes;
  }

  /** Throws {@link ToolError} if nothing comes from there within that time. */
  async goto(url: string, withinMs: number): Promise<void> {
    this.#isLoading = true;
    const late = new AbortController();
    const answers = this.#ask('Page.navigate', { url });
    answers.catch(() => {});
    const waited = sleep(withinMs, null, { signal: late.signal }).catch(() => null);
    const reply = await Promise.race([answers, waited]).finally(() => late.abort());
    if (reply === null) {
      await this.#ask('Page.stopLoading');
      throw new ToolError(`nothing came from ${url} within ${withinMs / 1000} s`);
    }
    if (typeof reply['errorText'] !== 'string') return;
    this.#isLoading = false;
    throw new ToolError(`${url} cannot be opened: ${reply['errorText']}`);
  }

  /** Until what was begun has loaded. */
  async settle(untilMs: number): Promise<void> {
    await sleep(beginsWithinMs);
    while (this.#isLoading && !this.hasEnded && performance.now() < untilMs) await sleep(lookEveryMs);
  }

  /** Of all frames, the outermost first. */
  async elements(): Promise<readonly Element[]> {
    const { frameTree } = await this.#ask('Page.getFrameTree');
    const frames = [this.#frame, ...framesBelow(fieldsOf(frameTree))].slice(0, mostFrames);
    const elements: Element[] = [];
    for (const frameId of frames)
      elements.push(...elementsOf(await this.#ask('Accessibility.getFullAXTree', { frameId })));
    return elements;
  }

  async where(): Promise<string> {
    const { currentIndex, entries } = await this.#ask('Page.getNavigationHistory');
    const { title, url } = listOf(entries)[Number(currentIndex)] ?? {};
    return `${JSON.stringify(title ?? '')} at ${String(url)}`;
  }

  async click({ node }: Element): Promise<void> {
    await this.#ask('DOM.scrollIntoViewIfNeeded', { backendNodeId: node }).catch(throwUnseen);
    const box = await this.box(node);
    if (box === null) throwUnseen();
    const at = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
    await this.#ask('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at });
    for (const type of ['mousePressed', 'mouseReleased'])
      await this.#ask('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
  }

  /** In place of what the element has; of a list of choices, the one that is called so. */
  async type({ node }: Element, text: string): Promise<void> {
    if (await this.#choose(node, text)) return;
    await this.#ask('DOM.focus', { backendNodeId: node }).catch(() => {
      throw new ToolError('nothing can be typed into this element');
    });
    await this.#press({ key: 'a', code: 'KeyA', commands: ['selectAll'] });
    if (text === '') await this.#press({ key: 'Delete', code: 'Delete', windowsVirtualKeyCode: 46 });
    else await this.#ask('Input.insertText', { text });
  }

  /** False if it is no list of choices. */
  async #choose(node: number, text: string): Promise<boolean> {
    const { object } = await this.#ask('DOM.resolveNode', { backendNodeId: node });
    const { result } = await this.#ask('Runtime.callFunctionOn', {
      objectId: fieldsOf(object)['objectId'],
      functionDeclaration: chooseInPage,
      arguments: [{ value: text }],
      returnByValue: true,
    });
    const { value } = fieldsOf(result);
    if (value === 'none') throw new ToolError(`there is no choice ${JSON.stringify(text)}`);
    return value === 'chosen';
  }

  enter(): Promise<void> {
    return this.#press({ key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' });
  }

  /** In pixels of the window; null if it is not laid out. */
  async box(node: number): Promise<Box | null> {
    const reply = await this.#ask('DOM.getContentQuads', { backendNodeId: node }).catch(() => ({
      quads: [],
    }));
    const [quad] = Array.isArray(reply['quads']) ? (reply['quads'] as readonly unknown[]) : [];
    if (!Array.isArray(quad) || quad.length !== 8) return null;
    const [xs, ys] = [0, 1].map((side) => quad.filter((_, index) => index % 2 === side).map(Number));
    if (xs === undefined || ys === undefined) return null;
    return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
  }

  async png(): Promise<Buffer> {
    const { data } = await this.#ask('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(String(data), 'base64');
  }

  hear({ method, params }: Event): void {
    const isMain = params['frameId'] === this.#frame;
    if (method === 'Page.frameStartedLoading' && isMain) this.#isLoading = true;
    if (method === 'Page.frameStoppedLoading' && isMain) this.#isLoading = false;
    if (method === 'Page.javascriptDialogOpening') this.#accept(params);
    if (method === 'Target.targetCreated') this.#closeWindow(fieldsOf(params['targetInfo']));
    if (method === 'Inspector.targetCrashed') {
      this.#browser.tools.end('the page has crashed, and the browser was ended');
      this.end();
    }
  }

  #accept({ type, message }: Fields): void {
    this.#note(`a dialog was accepted: ${String(type)} ${JSON.stringify(message)}`);
    this.#ask('Page.handleJavaScriptDialog', { accept: true }).catch(() => {});
  }

  #closeWindow({ targetId, type, url }: Fields): void {
    if (type !== 'page' || targetId === this.#frame) return;
    const address = typeof url === 'string' && url !== '' ? `: ${url}` : '';
    this.#note(`a window that the page opened was closed${address}`);
    this.#browser.tools.ask('Target.closeTarget', { targetId }).catch(() => {});
  }

  #note(text: string): void {
    this.#notes = [...this.#notes, text.slice(0, longestNote)].slice(-mostNotes);
  }

  async #press(key: Fields): Promise<void> {
    await this.#ask('Input.dispatchKeyEvent', { type: 'keyDown', ...key });
    await this.#ask('Input.dispatchKeyEvent', { type: 'keyUp', ...key });
  }

  /** A browser that does not answer has no further use. */
  async #ask(method: string, params: Fields = {}): Promise<Fields> {
    try {
      return await this.#browser.tools.ask(method, params, this.#session);
    } catch (error) {
      if (this.hasEnded) this.end();
      throw error;
    }
  }
}

/** Runs in the page, which may lie about it. */
const chooseInPage = `function (text) {
  if (this.localName !== 'select') return 'other';
  const option = [...this.options].find((each) => each.label.trim() === text.trim());
  if (option === undefined) return 'none';
  option.selected = true;
  for (const type of ['input', 'change']) this.dispatchEvent(new Event(type, { bubbles: true }));
  return 'chosen';
}`;

/** More are no page that a person made. */
const mostFrames = 20;

function framesBelow(tree: Fields): readonly string[] {
  const children = listOf(tree['childFrames']);
  const ids = children.map((child) => String(fieldsOf(child['frame'])['id']));
  return ids.concat(...children.map((child) => framesBelow(child)));
}

function throwUnseen(): never {
  throw new ToolError('this element is not visible on the page');
}
