import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aBind, policyUid, startSandboxdInBwrap, type TestSandboxd } from '#test/support/sandboxd.ts';
import { TerminalCalls } from '#test/support/terminal-calls.ts';

const { signal } = new AbortController();

let payloads: string;
beforeAll(async () => void (payloads = await mkdtemp(join(tmpdir(), 'corral-payloads-'))));
afterAll(() => rm(payloads, { recursive: true, force: true }));

/** Longer than any of these waits on a busy machine: the tests wait for texts. */
const timeout_s = 60;

describe('terminals in a sandbox with the programs of this machine', () => {
  let sandboxd: TestSandboxd;
  let calls: TerminalCalls;
  beforeAll(async () => {
    sandboxd = await startSandboxdInBwrap(payloads, { programs: true, env: { PATH: '/usr/bin:/bin' } });
    await sandboxd.link.bind(sandboxd.target, aBind(), signal);
    calls = new TerminalCalls(sandboxd);
    expect(await calls.tool('terminal_check')).toBe('');
    expect(await calls.read(1)).toBe('Error: no terminal is open; terminal_open opens one\n');
  });
  afterAll(() => sandboxd.stop());

  const opened = async (values: Parameters<TerminalCalls['open']>[0] = {}) => {
    const text = await calls.open({ timeout_s, ...values });
    const [, number] = /^\[terminal (\d+): /.exec(text) ?? [];
    if (number === undefined) throw new Error(text);
    return { terminal: Number(number), text };
  };
  const send = (terminal: number, text: string, keys: string, wait_for: string) =>
    calls.send(terminal, { text, keys, wait_for, timeout_s });

  it('a shell keeps its folder and variables between calls, as the policy with a terminal of its own', async () => {
    const { terminal } = await opened({ rows: 30, columns: 100 });
    await send(terminal, 'mkdir -p deep && cd deep && word=kept && clear && pwd', 'Enter', '/workspace/deep');
    const text = await send(
      terminal,
      'echo "$word:$(id -u):$(stty size):$TERM"',
      'Enter',
      'xterm-256color\n',
    );
    expect(text).toContain(`kept:${policyUid}:30 100:xterm-256color`);
    expect(await calls.close(terminal)).toBe(`[terminal ${terminal} is closed]\n`);
    expect(await calls.read(terminal)).toMatch(/^Error: there is no terminal /);
  });

  it('a Python prompt answers, and its end comes with its exit code', async () => {
    const { terminal } = await opened({ command: 'python3 -q', wait_for: '>>>' });
    expect(await send(terminal, '6 * 7', 'Enter', '42\n>>>')).toContain('>>> 6 * 7\n42\n>>>');
    const end = await calls.send(terminal, { text: 'exit(3)\n', wait_for: 'never', timeout_s });
    expect(end).toContain('ended with exit code 3, without "never"');
  });

  it('vim edits a file by its keys and writes it', async () => {
    const { terminal } = await opened({ command: 'vim.basic -u NONE -n note.txt', wait_for: 'note.txt' });
    await send(terminal, 'ihello', 'Enter', 'hello');
    expect(await send(terminal, 'world', 'Escape g g', 'world')).toContain('hello\nworld\n~');
    await send(terminal, 'xp', 'Down End', 'ehllo');
    expect(await send(terminal, ':w\n', '', 'written')).toContain('"note.txt"');
    expect(await send(terminal, ':q\n', '', 'never')).toContain('ended with exit code 0');
    expect(await calls.shell('cat note.txt')).toBe('ehllo\nworld\n');
  });

  it('less pages up and down, and what a shell printed can be read above its screen', async () => {
    await calls.shell('seq 1 500 > numbers');
    const { terminal, text } = await opened({ wait_for: '$' });
    expect(text).toContain('running');
    await send(terminal, 'cat numbers', 'Enter', '\n500\n');
    expect((await calls.read(terminal, { scrollback: 1000 })).split('\n')).toContain('1');
    await send(terminal, 'less numbers', 'Enter', '\n23\n');
    expect(await send(terminal, '', 'PageDown', '\n46\n')).toContain('\n24\n');
    expect(await send(terminal, '', 'G', '(END)')).toContain('\n500\n');
    expect(await send(terminal, '', 'q', '$')).not.toContain('(END)');
  });

  it('top draws its table again and again until its key ends it', async () => {
    const { terminal, text } = await opened({ command: 'top -d 0.2', wait_for: 'PID' });
    expect(text).toContain('COMMAND');
    expect(await send(terminal, '', 'q', '%Cpu')).toContain('Tasks:');
    await expect.poll(() => calls.read(terminal), { timeout: 60_000 }).toContain('ended with exit code 0');
  });

  it('tmux runs inside, with a window and a split, until it is detached', async () => {
    const { terminal } = await opened({
      command: 'LANG=C.UTF-8 tmux -L inner -f /dev/null',
      wait_for: '[0]',
    });
    await send(terminal, 'echo in-a-$((40 + 2))', 'Enter', 'in-a-42');
    expect(await send(terminal, '', 'C-b %', '│')).toContain('in-a-42');
    expect(await send(terminal, '', 'C-b d', '[detached')).not.toContain('│');
    expect(await calls.shell('tmux -L inner list-panes | wc -l; tmux -L inner kill-server')).toBe('2\n');
  });

  it('several are open at once, a wait ends at a regular expression, and Ctrl-C reaches a program', async () => {
    const one = await opened({ command: 'sleep 1000' });
    const other = await opened({ command: 'while read line; do echo "<$line>"; done' });
    const text = await calls.send(other.terminal, {
      text: 'a\nb\n',
      wait_for: '<b>$',
      regex: true,
      timeout_s,
    });
    expect(text).toContain('<a>\n');
    expect(await calls.send(one.terminal, { keys: 'C-c', wait_for: 'never', timeout_s })).toContain(
      'ended with exit code 130',
    );
    expect(await calls.send(one.terminal, { text: 'x' })).toMatch(/^Error: the program in this terminal has/);
  });

  it('mistakes of the model are texts: keys, patterns, folders, numbers', async () => {
    const { terminal } = await opened();
    expect(await calls.send(terminal, { keys: 'Enter Fire' })).toMatch(
      /^Error: there is no key "Fire"; keys/,
    );
    expect(await calls.read(terminal, { wait_for: '(', regex: true })).toMatch(/^Error: wait_for: /);
    expect(await calls.read(99)).toMatch(/^Error: there is no terminal 99; open: /);
    expect(await calls.open({ cwd: 'nowhere' })).toBe(
      'Error: no terminal could be opened: there is no such folder\n',
    );
    expect(await calls.read(terminal, { timeout_s: 61 })).toBe('Error: timeout_s must be at most 60\n');
  });

  it('a call that times out takes no terminal with it, and the grade of the rollout ends all', async () => {
    const { terminal } = await opened({ command: 'sleep 1000' });
    const action = {
      kind: 'builtin',
      tool: 'terminal_read',
      arguments: { terminal, wait_for: 'never' },
    } as const;
    expect(await calls.answer(action, 2_000)).toMatchObject({ ending: { kind: 'timed_out' } });
    expect(await calls.read(terminal)).toContain('running');
    const grade = { kind: 'grade', turn: 1, argv: ['sh', '-c', 'ps ax || :'], files: {}, stdin: '' } as const;
    const { stdout } = await calls.answer(grade);
    expect(stdout.head).toContain('ps ax');
    expect(stdout.head).not.toContain('sleep 1000');
    expect(stdout.head).not.toContain('corral-terminals');
  });
});

it('a terminal opens where the image has nothing but a shell, and costs what it is asked for only', async () => {
  const sandboxd = await startSandboxdInBwrap(payloads);
  try {
    await sandboxd.link.bind(sandboxd.target, aBind(), signal);
    const calls = new TerminalCalls(sandboxd);
    const before = await calls.shell('busybox ps');
    expect(before).not.toContain('corral-terminals');
    expect(await calls.open({ wait_for: '$', timeout_s })).toContain('[terminal 1: running');
    expect(await calls.send(1, { text: 'echo $((6*7))', keys: 'Enter', wait_for: '\n42' })).toContain('\n42');
    expect(await calls.shell('busybox ps')).toContain('corral-terminals');
  } finally {
    await sandboxd.stop();
  }
});
