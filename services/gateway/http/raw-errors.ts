import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Failure } from '../../../src/failure/failure.ts';
import { failureToHttp } from '../../../src/failure/http.ts';

/*
 * Requests that are not even HTTP. Their path cannot be trusted or is not known, so they get the answer of the RFT
 * face, 5xx: a trainer behind it must never see a 4xx, and nobody else loses by a 500.
 */

/** How long the client may go on sending before the connection is cut, so that it can read the answer first. */
const lingerMs = 1_000;

/** Answers a broken request on its bare connection; later calls for the same connection do nothing. */
export function answerRaw(failure: Failure, socket: Duplex): void {
  if (!socket.writable) return;
  const { status, body } = failureToHttp('rft', failure);
  const text = JSON.stringify(body);
  socket.on('error', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: application/json\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** What the HTTP parser's error means; `code` is Node's. */
export function rawFailure(error: { readonly code?: string; readonly message: string }): Failure {
  const reasons: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: 'the headers are larger than 16 KiB; send fewer or smaller ones',
    ERR_HTTP_REQUEST_TIMEOUT: 'the request did not come whole in time; check the network, and send it again',
  };
  const reason = reasons[error.code ?? ''] ?? `this is not HTTP (${error.message}); check the client`;
  return new Failure('invalid_request', reason, { evidence: { error: error.code ?? 'unknown' } });
}

/** Takes over the answers that Node would give by itself, 417 and a bare hang-up among them. */
export function takeOverNodeAnswers(server: Server): void {
  // An expectation that nobody knows may be ignored (RFC 9110, 10.1.1); the request is answered as if it had none.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    answerRaw(
      new Failure('invalid_request', 'this is not a proxy; send the request to its own address'),
      socket,
    );
  });
}
