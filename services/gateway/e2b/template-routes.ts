import type { FastifyReply } from 'fastify';
import { AliasParams, BuildParams, BuildStart, NewTemplate, RunParams } from '#src/protocol/e2b/control.ts';
import type { App } from '../http/app.ts';
import { controllerOf } from './identify.ts';
import type { E2bParts } from './routes.ts';
import { findTemplate, nameImage, newAlias } from './templates.ts';

/** Templates as their clients ask, make and wait for them: a name is given at once, so every build that is known is ready. */
export function templateRoutes(app: App, parts: E2bParts): void {
  app.get('/templates/aliases/:alias', { schema: { params: AliasParams } }, async (request, reply) => {
    const { alias } = request.params;
    const found = await findTemplate(parts, controllerOf(request).tenant, alias);
    return found === null ? answerNone(reply, alias) : { templateID: alias, public: false };
  });

  for (const path of ['/v3/templates', '/v2/templates']) {
    app.post(path, { schema: { params: RunParams, body: NewTemplate } }, async (request, reply) => {
      const { name, alias = name, tags = [] } = request.body;
      const given = newAlias(parts, [alias, ...tags.filter((tag) => tag !== 'default')].join(':'));
      const buildID = parts.random.text(20);
      const names = { names: [given], aliases: [given], tags: ['default'] };
      return reply.code(202).send({ templateID: given, buildID, public: false, ...names });
    });
  }

  app.post(
    '/v2/templates/:template/builds/:build',
    { schema: { params: BuildParams, body: BuildStart } },
    async (request, reply) => {
      const alias = newAlias(parts, request.params.template);
      await nameImage(parts, controllerOf(request).tenant, alias, request.body);
      return reply.code(202).send();
    },
  );

  app.get(
    '/templates/:template/builds/:build/status',
    { schema: { params: BuildParams } },
    async (request, reply) => {
      const { template, build } = request.params;
      const found = await findTemplate(parts, controllerOf(request).tenant, template);
      if (found === null) return answerNone(reply, template);
      return { templateID: template, buildID: build, status: 'ready', logs: [], logEntries: [] };
    },
  );
}

function answerNone(reply: FastifyReply, name: string): FastifyReply {
  return reply
    .code(404)
    .send({ code: 404, message: `there is no template ${JSON.stringify(name.slice(0, 100))}` });
}
