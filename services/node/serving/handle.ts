import type { IncomingMessage, ServerResponse } from 'node:http';
import { Compile } from 'typebox/compile';
import { sandboxId, type SandboxId } from '#src/model/ids.ts';
import { sandboxIdPattern } from '#src/protocol/node/parts.ts';
import { CreateBody, LabelBody, watchAliveEveryMs, type WatchLine } from '#src/protocol/node/wire.ts';
import type { BuiltData } from '../data/built-data.ts';
import type { Images } from '../images/images.ts';
import type { Feed } from '../sandbox/feed.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';
import { answer, BadRequest, type Handle, readBody } from './serve.ts';

const createCheck = Compile(CreateBody);
const labelCheck = Compile(LabelBody);

export type Served = {
  readonly data: BuiltData;
  readonly images: Images;
  readonly sandboxes: Sandboxes;
  readonly feed: Feed;
  readonly limitations: readonly string[];
  readonly isolation: string;
};

/**
 * The endpoints of `protocol/node/wire.ts`. What takes its time is only taken on here (202): how it goes is told by the watch, to
 * every controller alike, and whoever asks again for a sandbox that is there has asked for nothing new.
 */
export function createHandle(served: Served): Handle {
  const { sandboxes, feed, limitations, isolation, data } = served;
  return async (request, response) => {
    const [first, id, part, ...rest] = segments(request);
    if (first === 'sandboxes' && id !== undefined && rest.length === 0) {
      return onSandbox(served, idOf(id), part, request, response);
    }
    if (request.method !== 'GET' || id !== undefined) throw unknownEndpoint(request);
    switch (first ?? '') {
      case 'health':
        return answer(response, 204);
      case 'limitations':
        return answer(response, 200, { limitations, isolation });
      case 'data':
        return answer(response, 200, { data: data.states() });
      case 'sandboxes':
        return answer(response, 200, { sandboxes: sandboxes.list() });
      case 'watch':
        return streamWatch(response, feed, sandboxes);
      default:
        throw unknownEndpoint(request);
    }
  };
}

async function onSandbox(
  { sandboxes, data, images }: Pick<Served, 'sandboxes' | 'data' | 'images'>,
  sandbox: SandboxId,
  part: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  switch (`${request.method ?? ''} ${part ?? ''}`) {
    case 'PUT ': {
      const { template, tokenSha256 } = await readBody(request, createCheck);
      // Its answer was lost. Whatever has become of its image or its data since, it is there.
      if (sandboxes.has(sandbox)) return answer(response, 202);
      const placed = await data.placed(template);
      sandboxes.create({ sandbox, template: placed, tokenSha256 }, await images.hold(placed));
      return answer(response, 202);
    }
    case 'PUT label': {
      const { owner, expiresAtMs } = await readBody(request, labelCheck);
      sandboxes.label(sandbox, owner, expiresAtMs);
      return answer(response, 204);
    }
    case 'DELETE ':
      sandboxes.destroy(sandbox);
      return answer(response, 202);
    default:
      throw unknownEndpoint(request);
  }
}

const segments = (request: IncomingMessage) => (request.url ?? '/').split('/').slice(1);

function idOf(text: string): SandboxId {
  if (sandboxIdPattern.test(text)) return sandboxId(text);
  throw new BadRequest(
    400,
    `${JSON.stringify(text)} is no sandbox id: letters, digits and dashes, at most 63`,
  );
}

const unknownEndpoint = ({ method, url }: IncomingMessage) =>
  new BadRequest(404, `there is no ${method ?? ''} ${url ?? ''} here`);

/** What a watcher may have unread before it is cut off; it comes back and starts from the list. */
const longestBacklogBytes = 4 * 1024 * 1024;

/** Streams the feed as NDJSON until the client goes away. */
function streamWatch(response: ServerResponse, feed: Feed, sandboxes: Sandboxes): void {
  const write = (line: WatchLine) => {
    response.write(`${JSON.stringify(line)}\n`);
    if (response.writableLength > longestBacklogBytes) response.destroy();
  };
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  // Causes first: a watcher that finds a sandbox missing from the list should already know why.
  for (const end of feed.recentlyGone()) write(end);
  write({ kind: 'listed', sandboxes: [...sandboxes.list()] });
  const stop = feed.listen((event) =>
    write(event.kind === 'listed' ? { ...event, sandboxes: [...event.sandboxes] } : event),
  );
  const alive = setInterval(() => write({ kind: 'alive' }), watchAliveEveryMs);
  response.once('close', () => {
    stop();
    clearInterval(alive);
  });
}
