import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { scriptOf } from '../documented-commands.ts';

const repository = join(import.meta.dirname, '../../..');

/** The tested blocks of a how-to, `host` in place of `registry.example.com`: blocks that write files, and blocks that need the fleet. */
export function readHowTo(name: string, host: string): { readonly files: string; readonly play: string } {
  const page = readFileSync(join(repository, 'docs', name), 'utf8').replaceAll('registry.example.com', host);
  const marked = [...page.matchAll(/^<!-- tested -->\n```sh\n[^]*?^```$/gm)].map(([block]) =>
    scriptOf(block, true),
  );
  return {
    files: marked.filter(writes).join('\n'),
    play: marked.filter((block) => !writes(block)).join('\n'),
  };
}

const writes = (block: string) => block.startsWith('cat > ');

/** Runs blocks as they are in a folder, with `corral` on the PATH. Returns what they print; throws with all of it if they fail. */
export async function runBlocks(
  script: string,
  cwd: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = `${join(repository, 'bin')}:${process.env['PATH'] ?? ''}`;
  const env = { ...process.env, ...variables, PATH: path };
  const shell = spawn('sh', ['-eu'], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  shell.stdin.end(script);
  const [printed, said] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
  if (shell.exitCode !== 0)
    throw new Error(`the page's commands ended with ${shell.exitCode}:\n${printed}\n${said}`);
  return printed;
}
