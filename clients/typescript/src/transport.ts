/** One request and what came back, with every exception of `fetch` and the sockets below translated. Nothing is repeated here. */

export type Sent = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  /** How long the other side may be silent before it counts as gone. */
  readonly silentS: number;
  /** Of a good answer's body; null: all of it. */
  readonly mostBytes: number | null;
  /** The caller's own: what it aborts with is thrown. */
  readonly signal: AbortSignal | null;
};

export type Answer = {
  readonly status: number;
  readonly content: Uint8Array;
  readonly headers: Headers;
  /** Whether there was more than `mostBytes`. */
  readonly isCut: boolean;
};

/** No answer. `isOwn`: the client's own configuration makes each try fail alike. */
export type Broken = { readonly reason: string; readonly wasSent: boolean; readonly isOwn: boolean };

export async function send(request: Sent): Promise<Answer | Broken> {
  const opened = await openAnswer(request);
  return 'reason' in opened ? opened : opened.whole();
}

/** An answer whose body is left to be read: as a whole, or as it comes, and then closed. */
export type Opened = {
  readonly hasEvents: boolean;
  readonly whole: () => Promise<Answer | Broken>;
  /** Throws what the caller's signal aborts with; all else that breaks is the end. */
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly close: () => void;
};

export async function openAnswer(request: Sent): Promise<Opened | Broken> {
  const { method, url, headers, body, signal } = request;
  const silence = new Silence(request.silentS);
  const either = signal === null ? silence.signal : AbortSignal.any([silence.signal, signal]);
  try {
    const response = await fetch(url, { method, headers, body, signal: either, redirect: 'manual' });
    silence.begin();
    const kind = response.headers.get('content-type') ?? '';
    return {
      hasEvents: response.status === 200 && kind.startsWith('text/event-stream'),
      whole: () => wholeOf(response, silence, request),
      chunks: chunksOf(response, silence, signal),
      close: () => silence.abort(),
    };
  } catch (error) {
    silence.end();
    signal?.throwIfAborted();
    return toBroken(error);
  }
}

async function wholeOf(
  response: Response,
  silence: Silence,
  { mostBytes, signal }: Sent,
): Promise<Answer | Broken> {
  try {
    const read = await readBody(response, response.ok ? mostBytes : null, silence);
    return { status: response.status, headers: response.headers, ...read };
  } catch (error) {
    signal?.throwIfAborted();
    return toBroken(error);
  } finally {
    silence.end();
  }
}

async function* chunksOf(
  response: Response,
  silence: Silence,
  signal: AbortSignal | null,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      // Its reader may take as long as it likes.
      silence.end();
      yield chunk;
      silence.begin();
    }
  } catch {
    signal?.throwIfAborted();
  } finally {
    silence.end();
  }
}

/** Aborts after so long without a byte. */
class Silence {
  readonly #aborting = new AbortController();
  readonly #mostMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(mostS: number) {
    this.#mostMs = mostS * 1000;
    this.begin();
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  begin(): void {
    this.end();
    const reason = new Error(`no byte in ${this.#mostMs / 1000} s`);
    this.#timer = setTimeout(() => this.#aborting.abort(reason), this.#mostMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** Nothing is waited for any more. */
  abort(): void {
    this.end();
    this.#aborting.abort(new Error('closed'));
  }
}

async function readBody(
  response: Response,
  mostBytes: number | null,
  silence: Silence,
): Promise<Pick<Answer, 'content' | 'isCut'>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    silence.begin();
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop cancels the rest of the body.
    if (mostBytes !== null && bytes > mostBytes)
      return { content: joined(chunks, bytes).subarray(0, mostBytes), isCut: true };
  }
  return { content: joined(chunks, bytes), isCut: false };
}

function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** Codes of Node's `fetch` before anything was sent. */
const notSent: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const ofCertificates = /^(?:CERT_|ERR_TLS_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/;

function toBroken(error: unknown): Broken {
  const codes = [...causesOf(error)].map(codeOf);
  const isCertificate = codes.some((code) => ofCertificates.test(code));
  const isUrl = codes.includes('ERR_INVALID_URL');
  return {
    reason: [...causesOf(error)].map(String).join(': '),
    wasSent: !isCertificate && !isUrl && !codes.some((code) => notSent.has(code)),
    isOwn: isCertificate || isUrl,
  };
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}

/** An error, what caused it, and, of several addresses of one name, what each attempt met. */
function* causesOf(error: unknown): Generator {
  for (let each = error; each instanceof Error; each = each.cause) {
    yield each;
    if (each instanceof AggregateError) yield* each.errors as Iterable<unknown>;
  }
}

/** `retry-after` in seconds: a number of the gateway's, or a date of something between. */
export function retryAfterS({ headers }: Answer): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  if (/^\d+$/.test(text.trim())) return Number(text);
  const untilMs = Date.parse(text);
  return Number.isNaN(untilMs) ? null : Math.max(0, (untilMs - saidAtMs(headers)) / 1000);
}

/** The gateway's own clock, by which it tells its times. */
export function saidAtMs(headers: Headers): number {
  const atMs = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(atMs) ? Date.now() : atMs;
}
