import { setTimeout as sleep } from 'node:timers/promises';
import { fastify } from 'fastify';

/**
 * What holding a request costs when nothing else is done: Fastify with its own JSON parser, which answers each request after
 * the seconds that it asks for. Says its port.
 */
const app = fastify({ logger: false, keepAliveTimeout: 72_000, connectionTimeout: 660_000 });

const schema = {
  querystring: { type: 'object', properties: { wait_s: { type: 'number' } }, required: ['wait_s'] },
  body: {
    type: 'object',
    properties: { call_id: { type: 'string' }, name: { type: 'string' }, arguments: { type: 'object' } },
    required: ['call_id', 'name', 'arguments'],
  },
};

app.post<{ Querystring: { wait_s: number }; Body: { call_id: string } }>(
  '/v1/rollouts/:id/calls',
  { schema },
  async (request, reply) => {
    await sleep(request.query.wait_s * 1_000);
    return reply.code(503).send({ error: { code: 'capacity_timeout', call: request.body.call_id } });
  },
);

const url = await app.listen({ host: '127.0.0.1', port: 0 });
console.log(url);
