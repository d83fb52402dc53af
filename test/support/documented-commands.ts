import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A request that a page shows, and the answer that its trailing comment promises: `# 401 unauthorized`, `# 201`. */
export type Shown = { readonly command: string; readonly status: RegExp; readonly code: string | null };
export type Answered = { readonly status: string; readonly body: string };

/** The `sh` blocks of a page, one script; with `onlyMarked`, only those after a line `<!-- tested -->`. */
export function scriptOf(page: string, onlyMarked: boolean): string {
  const blocks = page.matchAll(/^(?<mark><!-- tested -->\n)?```sh\n(?<script>[^]*?)^```$/gm);
  return [...blocks]
    .filter(({ groups }) => !onlyMarked || groups?.['mark'] !== undefined)
    .map(({ groups }) => groups?.['script'] ?? '')
    .join('\n');
}

/** The requests of a script in order: what is no comment and no definition, and names the gateway. */
export function requestsOf(script: string): readonly Shown[] {
  const commands = script.replaceAll('\\\n', ' ').split('\n');
  return commands
    .filter((line) => line.includes('$CORRAL/'))
    .map((line) => {
      const promised = /\s#\s(?<status>\d{3})(?:\s(?<code>\w+))?\s*$/.exec(line)?.groups;
      const status = promised?.['status'] ?? '20[0-9]';
      return { command: line, status: new RegExp(`^${status}$`), code: promised?.['code'] ?? null };
    });
}

/**
 * Stands before curl in the path: the answer's body is printed as ever, and noted with its status. Beyond that the
 * commands run as they are shown.
 */
const recorder = `#!/bin/sh
next=$(printf '%03d' "$(ls "$RECORDS" | wc -l)")
PATH=$REAL_PATH curl -o "$RECORDS/$next.body" -w '%{http_code}' "$@" > "$RECORDS/../status" || exit
mv "$RECORDS/$next.body" "$RECORDS/$next.$(cat "$RECORDS/../status")" && cat "$RECORDS/$next."*
`;

/** Runs a script with `sh -eu` in a folder of its own; rejects with what it said when it ends badly. */
export async function runDocumented(script: string, variables: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'corral-documents-'));
  try {
    const [bin, records, work] = ['bin', 'records', 'work'].map((name) => join(folder, name));
    if (bin === undefined || records === undefined || work === undefined)
      throw new TypeError('three folders');
    await Promise.all([bin, records, work].map((path) => mkdir(path)));
    await writeFile(join(bin, 'curl'), recorder);
    await chmod(join(bin, 'curl'), 0o755);
    const real = process.env['PATH'] ?? '';
    const env = { ...variables, PATH: `${bin}:${real}`, REAL_PATH: real, RECORDS: records };
    await run(script, work, env);
    return await answersIn(records);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(script: string, cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  const shell = spawn('sh', ['-eu'], { cwd, env, timeout: 60_000 });
  let said = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  shell.stdin.end(script);
  const [code] = (await once(shell, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the commands ended with ${code}:\n${said}`);
}

async function answersIn(records: string): Promise<readonly Answered[]> {
  const names = (await readdir(records)).toSorted();
  return Promise.all(
    names.map(async (name) => ({
      status: name.split('.')[1] ?? '',
      body: await readFile(join(records, name), 'utf8'),
    })),
  );
}
