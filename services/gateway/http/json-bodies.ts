import type { FastifyRequest } from 'fastify';
import type { App } from './app.ts';
import { invalid } from './failure-of.ts';
import { readBody } from './read-body.ts';
import type { BodyLimits } from './read-body.ts';

const jsonType = /^application\/([a-z0-9.-]+\+)?json(?![a-z0-9.+-])/i;

/** Makes JSON the only body of this part of the application, read within bounds and counted by the hold gate. */
export function acceptJsonBodies(app: App, limits: BodyLimits): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: FastifyRequest['raw']) => {
    const bytes = await readBody(payload, limits, (count) => request.state?.hold?.grow(count));
    // Clients name a media type also where they send nothing; whether a body is needed is the route's schema's matter.
    if (bytes.length === 0) return undefined;
    if (!jsonType.test(request.headers['content-type'] ?? '')) {
      throw invalid('the body must be JSON, with the header "content-type: application/json"');
    }
    return parse(request, bytes.toString('utf8'), parseJson);
  });
}

function parse(
  request: FastifyRequest,
  text: string,
  parseJson: ReturnType<App['getDefaultJsonParser']>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    void parseJson(request, text, (error, body: unknown) => {
      if (error === null || error === undefined) resolve(body);
      else reject(invalid('the body is not JSON', error));
    });
  });
}
