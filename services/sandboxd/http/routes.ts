import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type BindReply,
  callIdsText,
  type FilePlace,
  type Health,
  maxStdinBytes,
  ownerHeader,
  type ProbeReply,
  protocolVersion,
  settledHeader,
  type StillRunning,
  unsettledHeader,
} from '#src/protocol/sandboxd/wire.ts';
import { awaitAnswer } from '../calls/journal.ts';
import type { JournalEntry } from '../calls/journal-entry.ts';
import { keptBytes } from '../calls/answer.ts';
import { monotonicMs } from '../clock.ts';
import { type Daemon, endAtExpiry, identityOf, lookedOver } from '../daemon.ts';
import { looksWell } from '../look.ts';
import { lackingOf } from '../programs/lacking.ts';
import { missingPrograms } from '../programs/missing.ts';
import { WireError } from '../wire-error.ts';
import { askersTime } from './askers-time.ts';
import type { Needed } from './gate.ts';
import {
  parseArtifacts,
  parseChangesQuery,
  parseContents,
  parseListing,
  parseBind,
  parseCall,
  parseCallId,
  parseFilePlace,
  parseLook,
  parseMostBytes,
  parseOffsets,
  parsePrepare,
  parseProbeDepth,
  parseReportsLeftOut,
  parseSettled,
  parseStdin,
  parseStream,
  parseTerminal,
  parseUploadId,
  parseWaitMs,
} from './requests.ts';

/** One request in hand. `gone` aborts when its client goes away; what it started goes on. */
type Exchange = {
  readonly daemon: Daemon;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** What the route's pattern caught, still percent-encoded. */
  readonly caught: string;
  readonly gone: AbortSignal;
};

/** What to answer: a status with a JSON body or none. `null`: the handler has answered by itself. */
export type Reply = { readonly status: number; readonly body?: object } | null;

type Route = {
  readonly method: string;
  readonly path: RegExp;
  readonly needed: Needed;
  readonly handle: (exchange: Exchange) => Reply | Promise<Reply>;
};

/** Modules that an idle sandbox never needs are loaded by the first request that does. */
export const routes: readonly Route[] = [
  { method: 'GET', path: /^\/health$/, needed: 'open', handle: health },
  { method: 'GET', path: /^\/identity$/, needed: 'token', handle: identity },
  { method: 'POST', path: /^\/probe$/, needed: 'token', handle: runProbe },
  { method: 'POST', path: /^\/prepare$/, needed: 'epoch', handle: runPrepare },
  { method: 'POST', path: /^\/bind$/, needed: 'epoch', handle: bind },
  { method: 'PUT', path: /^\/calls\/([^/]+)$/, needed: 'epoch', handle: startCall },
  { method: 'GET', path: /^\/calls\/([^/]+)$/, needed: 'epoch', handle: attachCall },
  { method: 'GET', path: /^\/calls\/([^/]+)\/output$/, needed: 'epoch', handle: outputOf },
  { method: 'GET', path: /^\/calls\/([^/]+)\/stream$/, needed: 'epoch', handle: streamOf },
  { method: 'POST', path: /^\/calls\/([^/]+)\/stdin$/, needed: 'epoch', handle: stdinOf },
  { method: 'GET', path: /^\/screen$/, needed: 'epoch', handle: screenOf },
  { method: 'POST', path: /^\/calls\/([^/]+)\/cancel$/, needed: 'epoch', handle: cancelCall },
  { method: 'PUT', path: /^\/(files|archive)$/, needed: 'epoch', handle: besideCalls(bytesIn) },
  { method: 'GET', path: /^\/(files|archive)$/, needed: 'epoch', handle: besideCalls(bytesOut) },
  { method: 'POST', path: /^\/artifacts$/, needed: 'epoch', handle: artifactsOut },
  { method: 'POST', path: /^\/listing$/, needed: 'epoch', handle: listingOut },
  { method: 'POST', path: /^\/contents$/, needed: 'epoch', handle: contentsOut },
  { method: 'PUT', path: /^\/changes$/, needed: 'epoch', handle: changesIn },
];

function health({ daemon }: Exchange): Reply {
  const { config, boot, binding } = daemon;
  const body: Health = { sandbox: config.sandbox, boot, protocol: protocolVersion, state: binding.state };
  return { status: 200, body };
}

function identity({ daemon, query }: Exchange): Reply {
  const { binding, config } = daemon;
  if (parseLook(query) && binding.state === 'unbound' && looksWell(config)) lookedOver(daemon);
  return { status: 200, body: identityOf(daemon) };
}

async function runProbe({ daemon, query }: Exchange): Promise<Reply> {
  const depth = parseProbeDepth(query);
  const startMs = monotonicMs();
  const { probe } = await import('../make-ready.ts');
  await probe(daemon.config, depth);
  lookedOver(daemon);
  const body: ProbeReply = { ok: true, durationMs: Math.round(monotonicMs() - startMs) };
  return { status: 200, body };
}

async function runPrepare({ daemon, request, gone }: Exchange): Promise<Reply> {
  daemon.binding.requireUnbound();
  const body = parsePrepare(await readJson(request));
  const { prepare } = await import('../make-ready.ts');
  return { status: 200, body: await prepare(daemon, body, gone) };
}

async function bind({ daemon, request }: Exchange): Promise<Reply> {
  const body = parseBind(await readJson(request));
  const isFirst = daemon.binding.bind(body, monotonicMs());
  if (isFirst) {
    endAtExpiry(daemon, body.expiresInMs);
    daemon.betweenCalls.begin();
    daemon.memoryBetweenCalls.begin();
  }
  const { programs = [], needs } = body;
  const reply: BindReply = {
    ...identityOf(daemon),
    ...(programs.length > 0 && { missing: await missingPrograms(daemon, programs) }),
    ...(needs && { lacks: await lackingOf(daemon, needs) }),
  };
  return { status: 200, body: reply };
}

/**
 * The rollout that is asked for, beside the boot that the gate has checked: after a failover fleet state may send a rollout to a
 * sandbox in which another lives, and two in one sandbox would both be scored. Who asks for it may say which of its calls are settled.
 */
function requireBound({ binding, journal }: Daemon, { headers }: IncomingMessage): void {
  const asker = headers[ownerHeader];
  binding.requireBound(typeof asker === 'string' ? asker : undefined);
  journal.settle(parseSettled(headers[settledHeader]));
}

async function startCall(exchange: Exchange): Promise<Reply> {
  const { daemon, request, query, caught } = exchange;
  requireBound(daemon, request);
  const waitMs = parseWaitMs(query);
  const callId = parseCallId(caught);
  const call = parseCall(await readJson(request));
  return answered(exchange, daemon.journal.receive(callId, call), waitMs);
}

function attachCall(exchange: Exchange): Promise<Reply> {
  const { daemon, request, query, caught } = exchange;
  requireBound(daemon, request);
  return answered(exchange, daemon.journal.find(parseCallId(caught)), parseWaitMs(query));
}

/** A call that waits for room is held this long at most: the next request for it says what may make way. */
const waitForRoomMs = 1_000;

async function answered(
  { daemon, response, gone }: Exchange,
  entry: JournalEntry,
  waitMs: number,
): Promise<Reply> {
  const heldMs = entry.state === 'received' ? Math.min(waitMs, waitForRoomMs) : waitMs;
  const answer = await awaitAnswer(entry, heldMs, gone);
  const unsettled = daemon.journal.unsettled();
  if (unsettled.length > 0) response.setHeader(unsettledHeader, callIdsText(unsettled));
  const running: StillRunning = { state: 'running' };
  return answer === 'running' ? { status: 202, body: running } : { status: 200, body: answer };
}

function outputOf({ daemon, request, query, caught, response }: Exchange): Reply {
  requireBound(daemon, request);
  const stream = daemon.outputs.find(parseCallId(caught))?.[parseStream(query)];
  if (stream === undefined)
    throw new WireError('answer_confirmed', 'its output had to make way, or was no more');
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': keptBytes(stream),
  });
  response.write(stream.head);
  response.end(stream.tail);
  return null;
}

async function streamOf({ daemon, request, query, caught, response, gone }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  const entry = daemon.journal.findStream(parseCallId(caught));
  const { sendStream } = await import('../calls/send-stream.ts');
  await sendStream(daemon.outputs, entry, parseOffsets(query), response, gone);
  return null;
}

async function stdinOf({ daemon, request, query, caught, gone }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  const callId = parseCallId(caught);
  const bytes = await readBody(request, maxStdinBytes);
  const { stdin } = daemon.journal.findStream(callId).live;
  if (stdin === null) throw new WireError('invalid_request', `the stdin of call ${callId} is not open`);
  return {
    status: 200,
    body: await stdin.take({ ...parseStdin(query), bytes }, parseWaitMs(query), gone),
  };
}

/** After the policy nothing of its user's runs any more. */
async function screenOf({ daemon, request, query }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  daemon.journal.requireUngraded();
  const terminal = parseTerminal(query);
  const { showScreen } = await import('../helper/show-screen.ts');
  return { status: 200, body: await showScreen(daemon, terminal) };
}

function cancelCall({ daemon, request, caught }: Exchange): Reply {
  requireBound(daemon, request);
  daemon.journal.cancel(parseCallId(caught));
  return { status: 202 };
}

/** What a transfer takes is the trainer's, and no background of the policy's. */
function besideCalls(handle: (exchange: Exchange) => Promise<Reply>): (exchange: Exchange) => Promise<Reply> {
  return async (exchange) => {
    const { background } = exchange.daemon;
    background.enter();
    try {
      return await handle(exchange);
    } finally {
      background.leave();
    }
  };
}

async function bytesIn({ daemon, request, query, caught }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  daemon.journal.requireUngraded();
  const place = parseFilePlace(query, formOf(caught));
  const { putFile } = await import('../files.ts');
  const body = await daemon.uploads.once(parseUploadId(query), place, () => {
    // Counted when it begins: one that breaks off may have left a part.
    daemon.done.filesPut += 1;
    return putFile(daemon.config, place, request, askersTime(request.headers));
  });
  // A repeat is answered without a look at what it sent.
  request.resume();
  return { status: 200, body };
}

async function bytesOut({ daemon, request, query, caught, response }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  const { getFile } = await import('../files.ts');
  const place = parseFilePlace(query, formOf(caught));
  const bounds = { mostBytes: parseMostBytes(query), reportsLeftOut: parseReportsLeftOut(query) };
  await getFile(daemon.config, place, bounds, response, askersTime(request.headers));
  return null;
}

/** The calls end before it is looked, for good: what is graded must be what the last of them left. */
async function artifactsOut({ daemon, request, response, gone }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  const time = askersTime(request.headers);
  const wanted = parseArtifacts(await readJson(request));
  beginTaking(daemon);
  const { takeArtifacts } = await import('../files.ts');
  await takeArtifacts(daemon, wanted, response, gone, time);
  return null;
}

/** No call follows that could say what the machine did to processes that the last one left behind, so no file is taken after that. */
function beginTaking({ journal, betweenCalls, memoryBetweenCalls }: Exchange['daemon']): void {
  journal.beginGrading();
  if (!memoryBetweenCalls.isDisturbed && Object.keys(betweenCalls.found).length === 0) return;
  const reason = 'since the last call the machine lacked memory, disk or another resource for what runs here';
  throw new WireError('file_error', reason, 'LOST');
}

/** In the policy's sandbox the calls end first, and no other begins. */
async function listingOut({ daemon, request, response, gone }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  const time = askersTime(request.headers);
  const wanted = parseListing(await readJson(request));
  if (wanted.turn !== null) beginTaking(daemon);
  const { sendListing } = await import('../changes.ts');
  await sendListing(daemon, wanted, response, gone, time);
  return null;
}

async function contentsOut({ daemon, request, response, gone }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  const time = askersTime(request.headers);
  const wanted = parseContents(await readJson(request));
  beginTaking(daemon);
  const { sendContents } = await import('../changes.ts');
  await sendContents(daemon, wanted, response, gone, time);
  return null;
}

async function changesIn({ daemon, request, query }: Exchange): Promise<Reply> {
  requireBound(daemon, request);
  daemon.journal.requireUngraded();
  const compared = parseChangesQuery(query);
  const { putChanges } = await import('../changes.ts');
  return { status: 200, body: await putChanges(daemon, compared, request, askersTime(request.headers)) };
}

const formOf = (caught: string): FilePlace['form'] => (caught === 'archive' ? 'archive' : 'file');

/**
 * The gateway takes at most 1 MiB from a trainer; as JSON of JSON it can grow about sixfold. A grader may be told of the whole
 * rollout besides: its sample, and 4,000 calls whose texts are control characters.
 */
const largestBodyBytes = 16 * 1024 * 1024;

/** A JSON body. Throws `payload_too_large` or `invalid_request`. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(request, largestBodyBytes);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new WireError('invalid_request', 'the body is not JSON');
  }
}

/** By events: what an iterator brings along is a millisecond of a fresh sandboxd's first call. */
function readBody(request: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= mostBytes) return void chunks.push(chunk);
      // What still comes is dropped as it comes, so that our answer gets through.
      chunks.length = 0;
      reject(new WireError('payload_too_large', `a body may have ${mostBytes} bytes`));
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => reject(new WireError('invalid_request', 'the body broke off')));
  });
}
