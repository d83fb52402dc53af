import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { longestScreenBytes } from '#src/protocol/sandboxd/terminals.ts';
import type { ScreenReply } from '#src/protocol/sandboxd/wire.ts';
import { Capture } from '../command/capture.ts';
import { NotStarted, spawnAs } from '../command/spawn-as.ts';
import type { Config } from '../config.ts';
import type { Daemon } from '../daemon.ts';
import { killTree } from '../processes/kill-tree.ts';
import { screenClient } from './terminal-process.ts';

/** Longer than the client waits; a policy can stop it. */
const withinMs = 15_000;

/** Different terminals. An operator looks again soon. */
const mostAtOnce = 8;

/**
 * The screen of a terminal, for an operator. Whatever hinders it is a text: it is the policy's, and looking decides nothing of the rollout.
 * One look is made at a time, and looks at the same terminal are one, so that the sandbox has one process more however many operators watch.
 */
export function showScreen(
  { config, screens, background }: Pick<Daemon, 'config' | 'screens' | 'background'>,
  terminal: number | null,
): Promise<ScreenReply> {
  const shared = screens.get(terminal);
  if (shared !== undefined) return shared;
  if (screens.size >= mostAtOnce)
    return Promise.resolve({ screen: null, reason: 'too many terminals are watched; try again' });
  const others = Promise.allSettled(screens.values());
  const shown = others
    .then(() => uncharged(background, () => showOnce(config, terminal)))
    .finally(() => screens.delete(terminal));
  screens.set(terminal, shown);
  return shown;
}

/** What a look takes is no background of the policy's, who can make it last: no longer than it takes by itself. */
const longestUnchargedMs = 100;

async function uncharged<Answer>(
  background: Daemon['background'],
  work: () => Promise<Answer>,
): Promise<Answer> {
  const over = new AbortController();
  background.enter();
  const leaving = sleep(longestUnchargedMs, null, { signal: over.signal })
    .catch(() => {})
    .then(() => background.leave());
  try {
    return await work();
  } finally {
    over.abort();
    await leaving;
  }
}

async function showOnce(config: Config, terminal: number | null): Promise<ScreenReply> {
  const client = screenClient(config, terminal);
  try {
    const { child, pid, stdout, stderr } = await spawnAs({ ...client, stdin: 'nothing' });
    const [screen, reason] = [captureHead(longestScreenBytes), captureHead(longestReasonBytes)];
    stdout.on('data', (chunk: Buffer) => screen.push(chunk));
    stderr.on('data', (chunk: Buffer) => reason.push(chunk));
    const closed = once(child, 'close') as Promise<[number | null]>;
    const late = new AbortController();
    const killing = sleep(withinMs, null, { signal: late.signal }).then(
      async () => {
        await killTree(pid);
        // A process of the policy's may have them open as well.
        for (const stream of [stdout, stderr]) stream.destroy();
      },
      () => {},
    );
    const [code] = await closed;
    late.abort();
    await killing;
    if (code === 0) return { screen: textOf(screen), reason: null };
    return { screen: null, reason: textOf(reason) || 'the terminal does not answer' };
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    return { screen: null, reason: error.message };
  }
}

const longestReasonBytes = 2_000;

/** The head is half of what a capture keeps. */
const captureHead = (bytes: number) => new Capture(2 * bytes);

const textOf = (capture: Capture): string => capture.taken().head.toString('utf8');
