import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { aBind, startSandboxdInBwrap, type TestSandboxd } from '#test/support/sandboxd.ts';
import { TerminalCalls } from '#test/support/terminal-calls.ts';

const { signal } = new AbortController();
const timeout_s = 60;

let payloads: string;
let sandboxd: TestSandboxd;
let calls: TerminalCalls;
beforeAll(async () => void (payloads = await mkdtemp(join(tmpdir(), 'corral-payloads-'))));
beforeEach(async () => {
  sandboxd = await startSandboxdInBwrap(payloads, { programs: true, env: { PATH: '/usr/bin:/bin' } });
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
  calls = new TerminalCalls(sandboxd);
});
/** Whatever a policy did: the sandbox answers, in the same life. */
afterEach(async () => {
  expect(await calls.shell('echo alive')).toBe('alive\n');
  await sandboxd.stop();
});
afterAll(() => rm(payloads, { recursive: true, force: true }));

const mebibyte = 1024 * 1024;
const socket = 'ls -d /tmp/.corral-terminals-*/socket';

it('output without end waits for the server: its memory stays bounded, and other terminals answer', async () => {
  await calls.open({ command: 'exec yes "$(seq 1 500 | tr -d "\\n")"', wait_for: '123', timeout_s });
  await calls.open({
    command: 'while :; do printf "e\\314\\201"; printf "\\314\\201%.0s" $(seq 1 500); done',
    timeout_s: 1,
  });
  expect(await calls.read(1, { timeout_s: 3 })).toContain(', still printing after 3 s]');
  await calls.open({ wait_for: '$', timeout_s });
  expect(await calls.send(3, { text: 'echo $((6*7))\n', wait_for: '\n42', timeout_s })).toContain('\n42');
  expect((await calls.read(2, { timeout_s: 1 })).length).toBeLessThan(mebibyte);
  const rss = await calls.shell('grep VmRSS /proc/$(pgrep corral-terminal)/status');
  expect(Number(/\d+/.exec(rss)?.[0])).toBeLessThan(200 * 1024);
});

it('escape sequences change the screen and never reach the reader, whom they could deceive', async () => {
  const hostile = String.raw`printf '\033]0;title\007\033]52;c;aGFja2Vk\007\033[2J\033[1;1Hshown\033[8mhidden\033[0m\033P1$r\033\\\017\n'`;
  const text = await calls.open({ command: hostile, wait_for: 'shown', timeout_s });
  expect(text).toContain('shownhidden');
  // oxlint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
  expect(text).not.toContain('title');
});

it('answers of the terminal that a program asks for and does not read are dropped', async () => {
  const asking = String.raw`stty raw -echo; while :; do printf '\033[6n\033[c'; done`;
  await calls.open({ command: asking, timeout_s: 1 });
  expect(await calls.read(1, { timeout_s: 2 })).toContain('[terminal 1: running');
  expect(await calls.send(1, { text: 'x'.repeat(60_000), timeout_s: 1 })).toContain('[terminal 1: running');
  const sends = Array.from({ length: 6 }, () => calls.send(1, { text: 'x'.repeat(60_000), timeout_s: 1 }));
  expect((await Promise.all(sends)).join('')).toContain('does not read');
});

it('a follower that reads nothing is given up, and the terminal goes on', async () => {
  await calls.open({ command: 'sleep 1; seq 1 400000; echo done; sleep 1000', timeout_s: 1 });
  const slow = [
    'import glob, json, socket, time',
    'peer = socket.socket(socket.AF_UNIX); peer.connect(glob.glob("/tmp/.corral-terminals-*/socket")[0])',
    'request = {"tool": "terminal_follow", "arguments": {"terminal": 1}, "env": {}, "cwd": "/"}',
    'peer.sendall(json.dumps(request).encode()); peer.shutdown(1)',
    'print("follows", flush=True); time.sleep(1000)',
  ].join('\n');
  await calls.shell(
    `python3 - <<'END' >/tmp/slow 2>&1 & \n${slow}\nEND\nuntil grep follows /tmp/slow; do :; done`,
  );
  expect(await calls.read(1, { wait_for: 'done', timeout_s })).toContain('400000\ndone');
  const rss = await calls.shell('grep VmRSS /proc/$(pgrep corral-terminal)/status');
  expect(Number(/\d+/.exec(rss)?.[0])).toBeLessThan(120 * 1024);
});

it('a killed server is a text, and the next open starts another', async () => {
  await calls.open({ command: 'sleep 1000', timeout_s: 1 });
  const waiting = calls.read(1, { wait_for: 'never', timeout_s });
  await expect.poll(() => calls.shell('pkill -KILL corral-terminal; pgrep -c sleep || :')).toBe('0\n');
  expect(await waiting).toMatch(/^Error: (?:the session server has ended|no terminal is open)/);
  expect(await calls.read(1)).toBe('Error: no terminal is open; terminal_open opens one\n');
  expect(await calls.open({ command: 'echo again', wait_for: 'again', timeout_s })).toContain('[terminal 1');
});

const look = () => sandboxd.link.screen(sandboxd.target, null, signal);
const reasonOf = async () => (await look()).reason;

it('an operator sees the newest screen at once, and starts nothing if no terminal is open', async () => {
  expect(await reasonOf()).toBe('Error: no terminal is open; terminal_open opens one\n');
  expect(await calls.shell('pgrep -c corral-terminal || :')).toBe('0\n');
  await calls.open({ command: 'echo one; exec sleep 1000', wait_for: 'one', timeout_s });
  await calls.open({
    command: String.raw`printf '\033]52;c;eA==\007two'; exec cat`,
    wait_for: 'two',
    timeout_s,
  });
  const looks = await Promise.all([look(), look(), sandboxd.link.screen(sandboxd.target, 1, signal)]);
  expect(looks.map(({ screen }) => screen)).toEqual([
    '[terminal 2: running, cursor at line 1, column 4; open: 1, 2]\ntwo\n',
    '[terminal 2: running, cursor at line 1, column 4; open: 1, 2]\ntwo\n',
    '[terminal 1: running, cursor at line 2, column 1; open: 1, 2]\none\n',
  ]);
  expect((await sandboxd.link.screen(sandboxd.target, 7, signal)).reason).toBe('Error: open: 1, 2\n');
});

it('a stopped server costs an operator a wait, and nothing else', async () => {
  await calls.open({ command: 'sleep 1000', timeout_s: 1 });
  await calls.shell('pkill -STOP corral-terminal');
  expect(await reasonOf()).toMatch(/^Error: the session server does not answer/);
  await calls.shell('pkill -KILL corral-terminal');
});

it('a stopped server costs a call its wait, and is a text', async () => {
  await calls.open({ command: 'sleep 1000', timeout_s: 1 });
  await calls.shell('pkill -STOP corral-terminal');
  expect(await calls.read(1, { timeout_s: 1 })).toMatch(
    /^Error: the session server does not answer; end it, or remove/,
  );
  await calls.shell('pkill -KILL corral-terminal');
});

it('a forged server that feeds without end is cut, and one whose socket is taken away ends itself', async () => {
  await calls.open({ command: 'sleep 1000', timeout_s: 1 });
  const forged = [
    'import glob, os, socket, sys',
    'path = glob.glob("/tmp/.corral-terminals-*/socket")[0]',
    'os.remove(path); server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()',
    'if os.fork(): sys.exit()',
    'peer = server.accept()[0]',
    'while True: peer.send(b"+" + b"x" * 65536)',
  ].join('\n');
  await calls.shell(`python3 - <<'END' >/dev/null 2>&1\n${forged}\nEND`);
  expect(await calls.read(1)).toBe('Error: the answer of the session is too long\n');
  await expect.poll(() => calls.shell('pgrep -c corral-terminal || :'), { timeout: 30_000 }).toBe('0\n');
});

it('a thousand sessions end at sixteen, and what is no request is not answered', async () => {
  await calls.open({ command: 'sleep 1000', timeout_s: 1 });
  const many = [
    'import glob, json, socket',
    'path = glob.glob("/tmp/.corral-terminals-*/socket")[0]',
    'def ask(text):',
    '  peer = socket.socket(socket.AF_UNIX); peer.connect(path); peer.sendall(text); peer.shutdown(1)',
    '  return peer.recv(100)',
    'values = {"command": "sleep 1000", "timeout_s": 1, "wait_for": "x"}',
    'request = {"tool": "terminal_open", "arguments": values, "env": {}, "cwd": "/"}',
    'replies = [ask(json.dumps(request).encode())[:1] for _ in range(1000)]',
    'print(replies.count(b"+"), replies.count(b"-"))',
    'print([ask(text) for text in (b"", b"{", b"[]", b"\\xff" * 100000)])',
  ].join('\n');
  const said = await calls.shell(`python3 - <<'END'\n${many}\nEND`);
  expect(said).toBe("15 985\n[b'', b'', b'-this is no request of a session', b'']\n");
  expect(await calls.shell('pgrep -c sleep')).toBe('16\n');
  expect(await calls.open()).toBe('Error: 16 terminals are open, which is the limit; close one first\n');
  expect(await calls.close(1)).toBe('[terminal 1 is closed]\n');
  expect(await calls.open({ command: 'exit 4', wait_for: 'x', timeout_s })).toContain('with exit code 4');
  expect(await calls.open({ command: 'exit 5', wait_for: 'x', timeout_s })).toContain('with exit code 5');
  expect(await calls.shell(`${socket} | wc -l`)).toBe('1\n');
});
