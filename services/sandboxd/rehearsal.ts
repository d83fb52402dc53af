import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  type BindRequest,
  bootHeader,
  type CallRequest,
  ownerHeader,
  ownerText,
  protocolVersion,
  sandboxHeader,
} from '#src/protocol/sandboxd/wire.ts';
import { monotonicMs } from './clock.ts';
import { collect } from './collect.ts';
import { createDaemon, type Daemon } from './daemon.ts';
import { createHttpServer } from './http/server.ts';
import { log } from './log.ts';
import { mayLive } from './processes/process-table.ts';
import { sha256Hex } from './sha256.ts';

/** Nobody's: it opens the played daemon only, and whoever could reach that would be in this process already. */
const token = 'rehearsal';
const owner = { tenant: token, run: token, rollout: token, attempt: 1, role: 'policy' };
const longestMs = 5_000;

const bind: BindRequest = {
  protocol: protocolVersion,
  owner,
  expiresInMs: longestMs,
  label: token,
  programs: ['sh'],
};
const call: CallRequest = {
  digest: token,
  label: token,
  action: { kind: 'exec', argv: ['sh', '-c', ':'], preferBash: true },
  timeoutMs: longestMs,
  keepBytes: 65_536,
  outputBytes: 1_048_576,
};

/**
 * Plays a bind and a first call through, in a sandbox that stands in its pool and has time. The burst that comes for it has
 * none, and two fifths of what a first call takes here are code that nobody has run yet. All that it leaves is that this code
 * is compiled: it is said to a daemon beside ours, with a binding and a journal of its own, over a connection that leads
 * nowhere else; what really happens is a no-op as the policy's user, as in a probe. Then the memory that starting and playing
 * took is given back, by the one kind of collection that lets go of all of it. Never rejects: what goes wrong is logged.
 *
 * Not where a template's commands have left something running: in a full sandbox a command is given the place of what runs
 * under its user, and whoever has its rollout here later must find what was prepared.
 */
export async function rehearse({ config, env, boot, binding }: Daemon): Promise<void> {
  if (config.userMode === 'two-user' && mayLive(config.policyUid)) return;
  const startMs = monotonicMs();
  try {
    const played = createDaemon({ ...config, tokenSha256: sha256Hex(token) }, env, boot, {
      end: () => {},
      rehearse: () => Promise.resolve(),
    });
    // Said here first, so that the one which is played repeats it: the first starts the clock that ends a sandbox.
    played.binding.bind(bind, monotonicMs());
    const answers = await play(played);
    // All stands still meanwhile, for some tens of milliseconds.
    if (binding.state === 'unbound') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    log({ level: 'info', message: 'rehearsed', answers, durationMs: Math.round(monotonicMs() - startMs) });
  } catch (error) {
    log({ level: 'warn', message: `the rehearsal failed: ${String(error)}` });
  }
}

/** Returns the statuses of both answers. */
async function play(played: Daemon): Promise<readonly number[]> {
  const [ours, theirs] = duplexPair();
  createHttpServer(played).emit('connection', theirs);
  ours.write(asked(played, 'POST /bind', 'keep-alive', bind));
  ours.write(asked(played, `PUT /calls/rehearsal?waitMs=${longestMs}`, 'close', call));
  const answers = await text(ours);
  // The answers follow one another without a line's end between them.
  return answers
    .split('HTTP/1.1 ')
    .slice(1)
    .map((answer) => Number.parseInt(answer, 10));
}

function asked({ config, boot }: Daemon, what: string, connection: string, json: object): string {
  const body = JSON.stringify(json);
  const lines = [
    `${what} HTTP/1.1`,
    'host: sandbox',
    `connection: ${connection}`,
    `authorization: Bearer ${token}`,
    `${sandboxHeader}: ${config.sandbox}`,
    `${bootHeader}: ${boot}`,
    `${ownerHeader}: ${ownerText(owner)}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
