import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedPayload } from '#test/support/fleet-folders.ts';
import { aBind, startSandboxdInBwrap, type TestSandboxd } from '#test/support/sandboxd.ts';
import { TerminalCalls } from '#test/support/terminal-calls.ts';

/* A real Chromium in a sandbox that has no network: the pages are of a server that the policy starts. */

const timeout_s = 60;
let sandboxd: TestSandboxd;
let calls: TerminalCalls;
beforeAll(async () => {
  sandboxd = await startSandboxdInBwrap(sharedPayload, { programs: true, env: { PATH: '/usr/bin:/bin' } });
  await sandboxd.link.bind(sandboxd.target, aBind(), new AbortController().signal);
  calls = new TerminalCalls(sandboxd);
  await calls.shell(
    `cat > index.html <<'END'\n${shop}\nEND\necho '<title>Other</title><h1>Arrived</h1>' > other.html`,
  );
  await calls.shell('python3 -m http.server 8000 >/dev/null 2>&1 &');
  await calls.shell(
    'until python3 -c "import urllib.request as u; u.urlopen(\'http://127.0.0.1:8000/\')" 2>/dev/null; do :; done',
  );
});
/** Whatever a page did: the sandbox answers, in the same life. */
afterAll(async () => {
  expect(await calls.shell('echo alive')).toBe('alive\n');
  await sandboxd.stop();
});

const shop = `<title>Shop</title>
<label>Coupon <input id=c></label><button onclick="add()">Add</button><button onclick="setTimeout(() => show('later'), 500)">Wait</button>
<label>Size <select onchange="show('size ' + this.value)"><option>small<option>large</select></label>
<a href=other.html>Go</a> <a href=other.html target=_blank>Open</a> <button onclick="show(confirm('Sure?'))">Ask</button>
<form action=other.html><label>Search <input name=q></label></form><p id=out></p>
<script>const show = (text) => { out.textContent = text }; const add = () => show('added ' + c.value)</script>`;
const shopUrl = 'http://127.0.0.1:8000/';
const goto = (url = shopUrl, more = {}) => calls.tool('browser_goto', { url, timeout_s, ...more });
const click = (role: string, name: string, more = {}) =>
  calls.tool('browser_click', { role, name, timeout_s, ...more });
const type = (name: string, text: string, more = {}) =>
  calls.tool('browser_type', { role: 'textbox', name, text, timeout_s, ...more });

test('before a goto no page is open; then it is read, and elements are clicked and typed into', async () => {
  expect(await calls.tool('browser_check')).toContain('Chromium');
  expect(await calls.tool('browser_read')).toBe('Error: no page is open; browser_goto opens one\n');
  const opened = await goto();
  expect(opened).toContain(`[page "Shop" at ${shopUrl}]\n`);
  expect(opened).toContain('- button "Add"');
  expect(await type('Coupon', 'TEN')).toContain('textbox "Coupon" = "TEN"');
  expect(await click('button', 'Add')).toContain('text "added TEN"');
  expect(await type('Coupon', '')).not.toContain('= "TEN"');
  expect(await click('button', 'Wait', { wait_for: 'later' })).toContain('text "later"');
  const large = { role: 'combobox', name: 'Size', text: 'large', timeout_s };
  expect(await calls.tool('browser_type', large)).toContain('text "size large"');
});

test('what is not there is a text that says what is', async () => {
  await goto();
  expect(await click('button', 'Buy')).toMatch(
    /^Error: there is no button "Buy"; there are\n1\. button "Add"/,
  );
  expect(await click('button', '')).toMatch(/^Error: 3 elements are button ""; say which with nth\n1\./);
  expect(await goto('here')).toContain('Error: "here" is not an address');
  expect(await goto('http://127.0.0.1:9/')).toMatch(
    /^Error: http:\/\/127\.0\.0\.1:9\/ cannot be opened: net::ERR_/,
  );
  expect(await goto('http://elsewhere.example/')).toMatch(/cannot be opened: net::ERR_/);
});

test('links, forms, dialogs and windows', async () => {
  await goto();
  expect(await click('button', 'Ask')).toMatch(
    /\[a dialog was accepted: confirm "Sure\?"\]\n[^]*text "true"/,
  );
  expect(await click('link', 'Open')).toContain(
    `[page "Shop" at ${shopUrl}]\n[a window that the page opened was closed`,
  );
  expect(await type('Search', 'x', { submit: true })).toContain(
    '[page "Other" at http://127.0.0.1:8000/other.html?q=x]',
  );
  await goto();
  expect(await click('link', 'Go')).toContain('heading "Arrived" (level 1)');
});

test('a screenshot is a PNG in the workspace, and a description of what is in the window', async () => {
  await goto();
  const said = await calls.tool('browser_screenshot', { path: 'shop.png' });
  expect(said).toMatch(/^\[screenshot of "Shop" at \S+: shop\.png, 1280 x 720, \d+ bytes\]\n/);
  expect(said).toMatch(/- button "Add" at \d+,\d+ \d+x\d+/);
  const png = readFileSync(join(sandboxd.workspace, 'shop.png'));
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1280, 720]);
  expect(await calls.tool('browser_screenshot', { path: '/no/such' })).toContain(
    'Error: such cannot be written',
  );
});

test('a browser that is killed is a text, and the next goto starts another', async () => {
  await goto();
  await calls.shell('pkill -KILL chromium');
  await expect.poll(() => calls.shell('pgrep -c chromium || :')).toBe('0\n');
  expect(await calls.tool('browser_read')).toBe('Error: no page is open; browser_goto opens one\n');
  expect(await goto()).toContain('[page "Shop"');
});

test('a killed server takes its browser along, and the next call starts another', async () => {
  await goto();
  await calls.shell('pkill -KILL corral-browser');
  await expect.poll(() => calls.shell('pgrep -c chromium || :'), { timeout: 30_000 }).toBe('0\n');
  expect(await calls.tool('browser_read')).toBe('Error: no page is open; browser_goto opens one\n');
  expect(await goto()).toContain('[page "Shop"');
});

test('a forged server that feeds without end is cut', async () => {
  await goto();
  const forged = [
    'import glob, os, socket, sys',
    'path = glob.glob("/tmp/.corral-browser-*/socket")[0]',
    'os.remove(path); server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()',
    'if os.fork(): sys.exit()',
    'peer = server.accept()[0]',
    'while True: peer.send(b"+" + b"x" * 65536)',
  ].join('\n');
  await calls.shell(`python3 - <<'END' >/dev/null 2>&1\n${forged}\nEND`);
  expect(await calls.tool('browser_read')).toBe('Error: the answer of the session is too long\n');
  await calls.shell('rm /tmp/.corral-browser-*/socket');
});

test('a browser that is stopped is ended after a while, and the next goto starts another', async () => {
  await goto();
  await calls.shell('pkill -STOP chromium');
  expect(await calls.tool('browser_read', { timeout_s })).toContain(
    'Error: the browser did not answer and was ended',
  );
  expect(await goto()).toContain('[page "Shop"');
});
