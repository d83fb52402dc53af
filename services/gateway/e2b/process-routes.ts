import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CallId } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { CallSummary } from '#src/ports/fleet/records.ts';
import {
  ConnectRequest,
  NoFields,
  type ProcessEvent,
  SignalRequest,
  StartRequest,
} from '#src/protocol/e2b/data.ts';
import { Deadline } from '#src/waiting/deadline.ts';
import { maxOutputBytes, type OutputStream } from '#src/protocol/sandboxd/wire.ts';
import type { CallResult, ExecRequest } from '../core-interface.ts';
import { described, describedStream, Empty, Processes } from '#src/protocol/e2b/described.ts';
import type { App } from '../http/app.ts';
import { invalid } from '../http/answer-failure.ts';
import { readBody } from '../http/read-body.ts';
import { takeCall } from '../http/taking.ts';
import { type ClientDeadline, readDeadline } from './client-deadline.ts';
import { entered, entersLater } from './follow-requests.ts';
import { answerWord, messageIn, streamOf } from './connect-wire.ts';
import { type Addressed, addressedBy, checkUser } from './identify.ts';
import { endOf, outputOf } from './process-events.ts';
import type { E2bParts } from './parts.ts';
import { checkAlive } from './sandbox.ts';

/**
 * Commands. Each is a call like every other, whose id holds the number that its client takes for a process id: so any gateway
 * finds it, and a client that lost its stream attaches to what runs or has run, and runs nothing again. Output comes when the
 * command has ended, as one piece: what may still be lost must not look like a beginning.
 */
export function processRoutes(app: App, parts: E2bParts): void {
  const { core } = parts;
  void app.register(async (streams) => streamRoutes(streams, parts));

  const listing = described('e2bListProcesses', 'Commands that run', { 200: Processes });
  app.post('/process.Process/List', { schema: { ...listing, body: NoFields } }, async (request) => {
    const { caller, ref } = addressedBy(request);
    const view = await core.view(caller, ref);
    checkAlive(view);
    const running = view.calls.filter(({ state }) => state === 'dispatched');
    // What they were asked to run is not kept here.
    const processes = running
      .flatMap(({ call }) => pidIn(call) ?? [])
      .map((pid) => ({ pid, config: { cmd: '' } }));
    return { processes };
  });

  const signaling = described('e2bSendSignal', 'Kill a command', { 200: Empty });
  app.post(
    '/process.Process/SendSignal',
    { schema: { ...signaling, body: SignalRequest } },
    async (request, reply) => {
      const addressed = addressedBy(request);
      const { process, signal } = request.body;
      if (signal !== 'SIGNAL_SIGKILL' && signal !== sigkill)
        throw invalid('only SIGKILL is sent to commands here');
      const found = await callOf(parts, addressed, process.pid ?? 0);
      if (found?.state !== 'dispatched') return answerWord(reply, 'not_found', noProcess(process.pid ?? 0));
      await core.cancel(addressed.caller, addressed.ref, found.call);
      return {};
    },
  );
}

function streamRoutes(app: App, parts: E2bParts): void {
  const { core, random } = parts;
  acceptEnvelopes(app);

  const starting = describedStream('e2bStartProcess', 'Run a command: a stream of Connect');
  app.post(
    '/process.Process/Start',
    // Its client waits a minute for the stream to begin, and from then on as long as it likes.
    { schema: { ...starting, body: StartRequest }, config: entersLater },
    async (request, reply) => {
      const addressed = addressedBy(request);
      checkUser(request);
      const { body } = request;
      if (body.pty !== undefined && body.pty !== null)
        throw invalid('there are no terminals; run the command without pty');
      if (body.stdin === true)
        throw invalid('commands have no stdin here; run it without, and give it a file or a pipe');
      const pid = leastPid + Math.floor(random.next() * (mostPid - leastPid));
      const call = takeCall(request, `${idBefore(pid)}${random.text(8)}`);
      const deadline = readDeadline(request.headers['connect-timeout-ms'], parts.clock);
      const command = {
        ...commandOf(body, addressed),
        ...deadline.times,
        binary: true,
        maxOutputBytes,
      } as const;
      const running = entered(request, Deadline.in(parts.clock, deadline.times.waitMs)).then(() =>
        core.exec(addressed.caller, { rollout: addressed.ref, call, ...command }),
      );
      return sendEvents(parts, request, reply, { pid, running, deadline });
    },
  );

  const attaching = describedStream('e2bConnectProcess', 'Attach to a command: a stream of Connect');
  app.post(
    '/process.Process/Connect',
    { schema: { ...attaching, body: ConnectRequest } },
    async (request, reply) => {
      const { caller, ref } = addressedBy(request);
      const pid = request.body.process.pid ?? 0;
      const found = await callOf(parts, addressedBy(request), pid);
      if (found === null) return answerWord(reply, 'not_found', noProcess(pid));
      takeCall(request, found.call);
      const deadline = readDeadline(request.headers['connect-timeout-ms'], parts.clock);
      const running = core.attach(caller, ref, found.call, deadline.times.waitMs);
      return sendEvents(parts, request, reply, { pid, running, deadline });
    },
  );
}

/** As the protobuf numbers it. */
const sigkill = 9;
/** Above every process id of Linux, so that a client that kills it by itself inside hits nobody; and within its 32 bits. */
const leastPid = 0x40_0001;
const mostPid = 0x7fff_ffff;

const idBefore = (pid: number): string => `e2b-${pid}-`;

function pidIn(call: CallId): number | null {
  const pid = /^e2b-(\d+)-/.exec(call)?.[1];
  return pid === undefined ? null : Number(pid);
}

const noProcess = (pid: number): string => `process with pid ${pid} not found`;

async function callOf(
  { core }: E2bParts,
  { caller, ref }: Addressed,
  pid: number,
): Promise<CallSummary | null> {
  const view = await core.view(caller, ref);
  const found = view.calls.find(({ call }) => pidIn(call) === pid);
  if (found !== undefined) return found;
  checkAlive(view);
  return null;
}

/** Everything that a stream is asked with fits into this: an argv of a megabyte is more than a kernel takes. */
const longestMessage = 2 * 1024 * 1024;
const drainBytes = 16 * 1024 * 1024;

function acceptEnvelopes(app: App): void {
  app.addContentTypeParser(
    'application/connect+json',
    async (request: FastifyRequest, payload: FastifyRequest['raw']) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      await readBody(payload, request.state?.hold ?? null, drainBytes, (chunk) => {
        bytes += chunk.length;
        if (bytes > longestMessage) throw invalid(`the message is longer than ${longestMessage} bytes`);
        request.state?.hold?.grow(chunk.length);
        chunks.push(chunk);
      });
      return messageIn(Buffer.concat(chunks));
    },
  );
}

/** Images without bash have some other shell, and clients only ever name this one. */
const bash = '/bin/bash';
const orShell = '[ -x /bin/bash ] && exec /bin/bash "$@"; exec /bin/sh "$@"';

function commandOf(
  { process }: StartRequest,
  { envs, cwd: usual }: Addressed,
): Pick<ExecRequest, 'argv' | 'cwd' | 'env'> {
  const { cmd, args = [] } = process;
  const cwd = process.cwd || usual;
  const env = { ...envs, ...process.envs };
  return {
    argv: cmd === bash ? ['/bin/sh', '-c', orShell, bash, ...args] : [cmd, ...args],
    env,
    ...(cwd === undefined ? {} : { cwd: belowHome(cwd) }),
  };
}

const belowHome = (path: string): string => path.replace(/^~(\/|$)/, './');

/** So long a stream waits for its command, so that what ends at once ends as an answer, with a status. */
const firstMs = 200;
/** Proxies and clients take a silent connection for a dead one after a minute. */
const usualPingS = 50;

type Started = {
  readonly pid: number;
  readonly running: Promise<CallResult>;
  readonly deadline: ClientDeadline;
};

async function sendEvents(
  parts: E2bParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { pid, running, deadline }: Started,
): Promise<FastifyReply> {
  const over = new AbortController();
  const ended = running.finally(() => over.abort());
  ended.catch(() => undefined);
  await parts.clock.sleep(firstMs, over.signal);
  if (over.signal.aborted) await ended;
  const { caller, ref } = addressedBy(request);
  const output: Output = async (kept, stream) =>
    deadline.leavesLongOutput() ? parts.core.output(caller, ref, kept, stream) : null;
  const pinged = { clock: parts.clock, over: over.signal, pingMs: pingMsOf(request) };
  const messages = eventsOf(pid, ended, pinged, output);
  const { rollout = null, call = null, inHand = null } = request.state ?? {};
  const stream = streamOf(messages, (failure) => {
    inHand?.failed(failure);
    parts.onFailure('e2b', { failure, rollout, call });
  });
  // It is held until it has ended, not until it has begun.
  const hold = request.state?.hold ?? null;
  if (request.state !== null) request.state.hold = null;
  stream.once('close', () => hold?.release());
  return reply.code(200).type('application/connect+json').send(stream);
}

type Output = (call: CallId, stream: OutputStream) => Promise<AsyncIterable<Uint8Array> | null>;
type Pinged = { readonly clock: Clock; readonly over: AbortSignal; readonly pingMs: number };

async function* eventsOf(
  pid: number,
  ended: Promise<CallResult>,
  { clock, over, pingMs }: Pinged,
  output: Output,
): AsyncGenerator<{ readonly event: ProcessEvent }> {
  yield { event: { start: { pid } } };
  while (!over.aborted) {
    await clock.sleep(pingMs, over);
    if (!over.aborted) yield { event: { keepalive: {} } };
  }
  const result = await ended;
  for await (const data of outputOf(result, (stream) => output(result.callId, stream)))
    yield { event: { data } };
  yield { event: { end: endOf(result) } };
}

function pingMsOf(request: FastifyRequest): number {
  const asked = Number(request.headers['keepalive-ping-interval'] ?? usualPingS);
  return 1_000 * (asked >= 1 && asked <= usualPingS ? asked : usualPingS);
}
