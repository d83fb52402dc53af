import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const writer = JSON.stringify(join(import.meta.dirname, 'stdout-writer.ts'));

/** More than a pipe holds, many times over. */
const lines = 20_000;

test('a reader that is slow gets every line whole, and the process goes on meanwhile', async () => {
  const program = `
    const { createStdoutWriter } = await import(${writer});
    let turns = 0;
    setInterval(() => (turns += 1), 10);
    process.on('SIGTERM', () => process.stderr.write(String(turns) + '\\n'));
    const text = Array.from({ length: ${lines} }, (_, n) => JSON.stringify({ n, text: 'x'.repeat(100) }) + '\\n').join('');
    process.stderr.write('up\\n');
    await createStdoutWriter().write(text);
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const told = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
  expect((await told.next()).value).toBe('up');
  // Nobody has read anything: the pipe is full, and the process turns.
  await new Promise((resolve) => setTimeout(resolve, 300));
  child.kill('SIGTERM');
  expect(Number((await told.next()).value)).toBeGreaterThan(5);

  let read = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    expect((JSON.parse(line) as { n: number }).n).toBe(read);
    read += 1;
  }
  expect(read).toBe(lines);
  expect((await exited)[0]).toBe(0);
});
