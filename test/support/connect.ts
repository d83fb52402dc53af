/** Connect as its specification has it, for streams of JSON; nothing of ours is in it. */

export function envelope(message: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
}

export type Envelope = { readonly isLast: boolean; readonly message: unknown };

/** Throws where the bytes end within one. */
export function envelopesIn(bytes: Buffer): readonly Envelope[] {
  const found: Envelope[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) throw new Error('the stream broke off');
    const message: unknown = JSON.parse(bytes.subarray(at + 5, end).toString('utf8'));
    found.push({ isLast: (bytes[at] ?? 0) === 2, message });
    at = end;
  }
  return found;
}

/** What the stream says of its own end; throws where it says nothing. */
export function lastIn(envelopes: readonly Envelope[]): unknown {
  const last = envelopes.at(-1);
  if (last?.isLast !== true) throw new Error('the stream has no end');
  return last.message;
}

type ProcessEvent = {
  readonly event: {
    readonly data?: { readonly stdout?: string; readonly stderr?: string };
    readonly end?: { readonly exitCode: number };
  };
};

/** What a process has printed, and how it ended; null: it did not say. */
export function dataIn(envelopes: readonly Envelope[]) {
  const events = envelopes
    .filter(({ isLast }) => !isLast)
    .map(({ message }) => (message as ProcessEvent).event);
  const text = (stream: 'stdout' | 'stderr') =>
    Buffer.concat(events.map(({ data }) => Buffer.from(data?.[stream] ?? '', 'base64'))).toString('utf8');
  const exitCode = events.find(({ end }) => end !== undefined)?.end?.exitCode ?? null;
  return { stdout: text('stdout'), stderr: text('stderr'), exitCode };
}
