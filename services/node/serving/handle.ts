import type { IncomingMessage, ServerResponse } from 'node:http';
import { sandboxId, type SandboxId } from '#src/model/ids.ts';
import { sandboxIdPattern } from '#src/protocol/node/parts.ts';
import { CreateBody, LabelBody } from '#src/protocol/node/wire.ts';
import type { BuiltData } from '../data/built-data.ts';
import type { Feed } from '../sandbox/feed.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';
import { answer, BadRequest, readBody } from './answers.ts';
import type { Handle } from './serve.ts';
import { streamWatch } from './stream-watch.ts';

export type Served = {
  readonly data: BuiltData;
  readonly sandboxes: Sandboxes;
  readonly feed: Feed;
  readonly limitations: readonly string[];
};

/** The endpoints of `protocol/node/wire.ts`. */
export function createHandle(served: Served): Handle {
  const { sandboxes, feed, limitations, data } = served;
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
        return answer(response, 200, { limitations });
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
  { sandboxes, data }: Pick<Served, 'sandboxes' | 'data'>,
  sandbox: SandboxId,
  part: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  switch (`${request.method ?? ''} ${part ?? ''}`) {
    case 'PUT ': {
      const { template, tokenSha256 } = await readBody(request, CreateBody);
      sandboxes.create({ sandbox, template: await data.placed(template), tokenSha256 });
      return answer(response, 202);
    }
    case 'PUT label': {
      const { owner, expiresAtMs } = await readBody(request, LabelBody);
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
