import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runCorral } from '#test/support/command-line.ts';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { exitCodes } from './command-error.ts';
import type { Terminal } from './print/terminal.ts';
import { runCommandLine } from './program.ts';

const words = `
name: words
sandbox: { image: host }
tools: { shell: { builtin: shell } }
grader: { kind: text, match: numeric, reference: item.count }
`;

test('a policy that an environment breaks is told by its line, as the caller’s, before anything starts', async () => {
  await using policies = await environmentFolder({ 'policy.yaml': 'ceilings: { memory: 1Mi }' });
  const remarks: string[] = [];
  const terminal: Terminal = { result: () => undefined, remark: (text) => remarks.push(text), width: 80 };
  const policy = join(policies.path, 'policy.yaml');
  const state = join(policies.path, 'state');
  const exitCode = await runCommandLine(
    ['up', '--policy', policy, '--state', state, '--port', '0'],
    terminal,
  );
  expect(exitCode).toBe(exitCodes.yours);
  expect(remarks.join('\n')).toMatch(/shell\.yaml:\d+: sandbox\.memory .* ceiling.*\n {2}cause: your input/);
});

test.each(['ladder', 'attack', 'preflight', 'study'])(
  '`%s` of an environment that is not there names those that are, and starts no fleet',
  async (command) => {
    await using folder = await environmentFolder({ 'words.yaml': words });
    const { exitCode, said } = await runCorral([
      command,
      'wrods',
      '--environments',
      folder.path,
      '--state',
      join(folder.path, 'state'),
    ]);
    expect(exitCode).toBe(exitCodes.yours);
    expect(said).toMatch(/there is no environment wrods in .*\n.*\n.*there is: words/);
    expect(said).not.toContain('starting');
  },
);

test('`--version` is the one of the package', async () => {
  const { exitCode, printed } = await runCorral(['--version']);
  expect(exitCode).toBe(exitCodes.done);
  expect(printed).toMatch(/^\d+\.\d+\.\d+$/);
});

test('a reader that has read enough ends a command without an error', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), '--help']);
  child.stdout.destroy();
  const [said, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect({ exitCode, said }).toEqual({ exitCode: exitCodes.done, said: '' });
});
