import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { Journal, type StartCall } from '#services/sandboxd/calls/journal.ts';
import { nothingCaptured } from '#services/sandboxd/command/capture.ts';
import { readConfig } from '#services/sandboxd/config.ts';
import { createDaemon } from '#services/sandboxd/daemon.ts';
import { createHttpServer } from '#services/sandboxd/http/server.ts';
import { bootHeader, type ProbeReply, sandboxHeader } from '#src/protocol/sandboxd/wire.ts';
import type { Resident } from './resident.ts';

/** One sandboxd among many in a process. */
export type Inhabitant = {
  readonly uid: string;
  answer(request: IncomingMessage, response: ServerResponse): void;
};

/** More than any rollout of a benchmark asks of one life. */
const journalLimits = { bytes: 8 * 1024 * 1024, lastKept: 16, waiting: 256, calls: 4096 };

/**
 * sandboxd itself, with its own identity, boot id, token, binding and journal, but without a machine: nothing is run. A
 * command's output is the sandbox's id, made longer if it is to be, and the no-op of a start has always worked. What processes cost is the sandboxes'
 * CPU, and these have none.
 */
export function createInhabitant({ uid, env }: Resident, outputBytes = 0): Inhabitant {
  // Nobody else's processes may be touched: with one id sandboxd only ever ends those that it started.
  // No command runs, but a rollout is only bound where its working directory is.
  const config = readConfig({ ...env, CORRAL_USERS: 'single-user', CORRAL_WORKSPACE: tmpdir() }, 0, '/');
  const boot = randomBytes(12).toString('hex');
  const daemon = {
    ...createDaemon(config, env, boot, { end: () => {}, rehearse: () => Promise.resolve() }),
    journal: new Journal(journalLimits, whoAmI(config.sandbox, outputBytes), () => performance.now()),
  };
  const server = createHttpServer(daemon);
  return {
    uid,
    answer: (request, response) => {
      if (request.url?.startsWith('/probe') !== true) return void server.emit('request', request, response);
      response.setHeader(sandboxHeader, config.sandbox).setHeader(bootHeader, boot);
      response.end(JSON.stringify({ ok: true, durationMs: 0 } satisfies ProbeReply));
    },
  };
}

const whoAmI =
  (sandbox: string, outputBytes: number): StartCall =>
  async (callId) => {
    const text = Buffer.from(`${sandbox}\n`.padEnd(outputBytes, fillOf(callId)));
    const stdout = { head: text, tail: Buffer.alloc(0), totalBytes: text.length };
    return { callId, ending: { kind: 'exited', exitCode: 0 }, stdout, stderr: nothingCaptured, evidence };
  };

/** Other text for each call, as commands print it: what compresses to nothing would cost a store nothing. */
const fillOf = (callId: string): string =>
  Array.from({ length: 40 }, (_, line) => `src/${callId}/file-${(line * 7919) % 101}.ts:${line}\n`).join('');

const evidence = { durationMs: 1, outOfMemoryKills: null, escapedProcesses: 0, backgroundProcesses: 0 };
