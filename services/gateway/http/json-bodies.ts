import type { FastifyRequest } from 'fastify';
import type { Written } from '#src/model/written.ts';
import type { App } from './app.ts';
import { type Aside, BodyParts, type WrittenMember } from './body-parts.ts';
import { invalid } from './answer-failure.ts';
import { readBody } from './read-body.ts';

const jsonType = /^application\/([a-z0-9.-]+\+)?json(?![a-z0-9.+-])/i;

export type JsonLimits = {
  /** The caller's part of a body: ids, the dataset row. What the model wrote is bounded by its own route. */
  readonly maxBytes: number;
  /** So much of any body is read, kept or not. */
  readonly drainBytes: number;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The member of the body that the model wrote; it comes as `request.state.written`, and `{}` stands for it. */
    written?: WrittenMember;
  }
}

/** Far above any dataset row, and far below where anything that walks one would run out of stack. */
const deepestBody = 256;

/**
 * Makes JSON the only body of this part of the application. It is read within bounds, and its memory, also what it takes
 * once parsed, is counted by the hold gate. `__proto__` is a name like any other here: nothing is assigned by names that
 * came from outside.
 */
export function acceptJsonBodies(app: App, limits: JsonLimits): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: FastifyRequest['raw']) => {
    const { written = null } = request.routeOptions.config;
    const hold = (bytes: number): void => request.state?.hold?.grow(bytes);
    const parts = new BodyParts(written, limits.maxBytes, hold);
    await readBody(payload, request.state?.hold ?? null, limits.drainBytes, (chunk) => parts.push(chunk));
    // Clients name a media type also where they send nothing; whether a body is needed is the route's schema's matter.
    if (parts.isEmpty) return undefined;
    if (!jsonType.test(request.headers['content-type'] ?? '')) {
      throw invalid('the body must be JSON, with the header "content-type: application/json"');
    }
    if (request.state !== null) request.state.written = textOf(parts.aside);
    return parse(parts);
  });
}

function textOf(aside: Aside | null): Written | null {
  return Buffer.isBuffer(aside) ? aside.toString('utf8') : aside;
}

function parse(parts: BodyParts): unknown {
  if (parts.deepest > deepestBody) throw invalid(`the body is nested deeper than ${deepestBody} levels`);
  try {
    return JSON.parse(parts.rest.toString('utf8')) as unknown;
  } catch (error) {
    throw invalid('the body is not JSON', error);
  }
}
