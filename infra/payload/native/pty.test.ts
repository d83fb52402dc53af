import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { nativeFile } from './compile.ts';

const pty = nativeFile('pty', process.arch);

function run(script: string, input = '', env: NodeJS.ProcessEnv = { PATH: '/usr/bin:/bin' }) {
  const argv = ['30', '90', '/bin/sh', '-c', script];
  const { stdout, stderr, status } = spawnSync(pty, argv, { input, env, maxBuffer: 64 * 1024 ** 2 });
  return { out: String(stdout), reason: String(stderr), status };
}

it('runs a program in a terminal of its own, of the size that was asked for', () => {
  const { out, status } = run('tty; stty size; ps -o sid= -o tpgid= -p $$; exit 7');
  expect(out).toMatch(/^\/dev\/pts\/\d+\r\n30 90\r\n *(\d+) +\1\r\n$/);
  expect(status).toBe(7);
});

it('passes on what goes in', () => {
  expect(run('read line; echo "<$line>"', 'hello\n').out).toContain('<hello>\r\n');
});

it('ends as a shell tells of a program that a signal has ended', () => {
  expect(run('kill -KILL $$').status).toBe(137);
});

it('passes all output on before it ends, also if something in the background goes on printing', () => {
  const { out } = run('seq 1 100000');
  expect(out.endsWith('99999\r\n100000\r\n')).toBe(true);
  // The loop ends when its terminal is gone.
  expect(run('trap "" HUP; (while echo y; do :; done) 2>&- & exec sleep 0.1').status).toBe(0);
});

it('gives the program no descriptor but its terminal, and is not found by a search for it', () => {
  const { out } = run(
    'ls /proc/$$/fd | tr "\\n" " "; tr "\\0" " " < /proc/$PPID/cmdline | tr -d " "; echo .',
  );
  expect(out).toMatch(/^0 1 2 (?:3 )?\.\r\n$/);
});

it('says why there is no program', () => {
  const { stdout, status } = spawnSync(pty, ['24', '80', '/nowhere']);
  expect(String(stdout)).toContain('the program could not be run');
  expect(status).toBe(127);
});

it('hangs the terminal up when it is killed, or when its server ends', async () => {
  const child = spawn(pty, ['24', '80', '/bin/sh', '-c', 'echo $$; exec sleep 1000'], { stdio: 'pipe' });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  child.stdin.destroy();
  child.stdout.destroy();
  await once(child, 'exit');
  await expect.poll(() => spawnSync('kill', ['-0', line.trim()]).status).not.toBe(0);
});

it('does not read on while its reader does not', async () => {
  const child = spawn(pty, ['24', '80', '/bin/sh', '-c', 'seq 1 300000'], { stdio: 'pipe' });
  await once(child.stdout, 'readable');
  const all = await text(child.stdout);
  expect(all).toMatch(/^1\r\n/);
  expect(all.endsWith('300000\r\n')).toBe(true);
});
