import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { imageOfRow } from '#src/environments/row-image.ts';
import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import type { TenantId } from '#src/model/ids.ts';
import type { Named } from '#src/ports/fleet/registry.ts';
import {
  AliasParams,
  BuildParams,
  BuildStart,
  FileParams,
  NewTemplate,
  RunParams,
  TemplateParams,
} from '#src/protocol/e2b/control.ts';
import {
  BuildStatus,
  described,
  Nothing,
  TemplateAlias,
  TemplateMade,
  TemplateTag,
  versioned,
} from '#src/protocol/e2b/described.ts';
import { invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { environmentRef } from '../http/taking.ts';
import { buildElsewhere, compileSteps, joinScripts, type Steps } from './build-steps.ts';
import { controllerOf } from './identify.ts';
import type { E2bParts } from './parts.ts';
import {
  buildIdOf,
  isEnvironment,
  isKnown,
  joinName,
  newName,
  type TemplateName,
  templateOf,
} from './template-names.ts';

/*
 * A template is one of the fleet's environments, by its name, or a name that a client gave to an image by "building" it: nothing is
 * built. The image becomes the row's, in an environment that takes its image from there, and build steps run when a sandbox starts.
 */

/** Templates as their clients ask, make and wait for them: a name is given at once, so every build that is known is ready. */
export function templateRoutes(app: App, parts: E2bParts): void {
  const asking = described('e2bGetTemplateAlias', 'Whether a template exists', { 200: TemplateAlias });
  app.get(
    '/templates/aliases/:alias',
    { schema: { ...asking, params: AliasParams } },
    async (request, reply) => {
      const { alias } = request.params;
      const isThere = await isKnown(parts, controllerOf(request).tenant, alias);
      return isThere ? { templateID: alias, public: false } : answerNone(reply, alias);
    },
  );

  const listing = described('e2bListTemplateTags', 'Tags of a template', { 200: Type.Array(TemplateTag) });
  app.get(
    '/templates/:template/tags',
    { schema: { ...listing, params: TemplateParams } },
    async (request, reply) => {
      const { template } = request.params;
      const tags = await listTags(parts, controllerOf(request).tenant, template);
      return tags.length === 0 ? answerNone(reply, template) : tags;
    },
  );

  buildRoutes(app, parts);
}

function buildRoutes(app: App, parts: E2bParts): void {
  for (const path of ['/v3/templates', '/v2/templates']) {
    const making = described(versioned('e2bCreateTemplate', path), 'Name a template', { 202: TemplateMade });
    app.post(
      path,
      { schema: { ...making, params: RunParams, body: NewTemplate } },
      async (request, reply) => {
        const { name, alias = name, tags = [] } = request.body;
        const given = newName(parts, [alias, ...tags.filter((tag) => tag !== 'default')].join(':'));
        const buildID = buildIdOf(controllerOf(request).tenant, given);
        const whole = joinName(given);
        const names = { names: [whole], aliases: [whole], tags: [given.tag] };
        return reply.code(202).send({ templateID: whole, buildID, public: false, ...names });
      },
    );
  }

  const starting = described('e2bStartBuild', 'Give the template its image and steps', { 202: Nothing });
  app.post(
    '/v2/templates/:template/builds/:build',
    { schema: { ...starting, params: BuildParams, body: BuildStart } },
    async (request, reply) => {
      const name = newName(parts, request.params.template);
      await nameImage(parts, controllerOf(request).tenant, name, request.body);
      return reply.code(202).send();
    },
  );

  const watching = described('e2bGetBuildStatus', 'A build, which is always ready', { 200: BuildStatus });
  app.get(
    '/templates/:template/builds/:build/status',
    { schema: { ...watching, params: BuildParams } },
    async (request, reply) => {
      const { template, build } = request.params;
      if (!(await isKnown(parts, controllerOf(request).tenant, template))) return answerNone(reply, template);
      return { templateID: template, buildID: build, status: 'ready', logs: [], logEntries: [] };
    },
  );

  const uploading = described('e2bGetBuildFiles', 'Refused: no files are built into a template', {});
  app.get('/templates/:template/files/:hash', { schema: { ...uploading, params: FileParams } }, () => {
    throw invalid(`build steps that copy files (COPY) are not served; ${buildElsewhere}`);
  });
}

function answerNone(reply: FastifyReply, name: string): FastifyReply {
  return reply
    .code(404)
    .send({ code: 404, message: `there is no template ${JSON.stringify(name.slice(0, 100))}` });
}

async function listTags({ aliases }: Pick<E2bParts, 'aliases'>, tenant: TenantId, alias: string) {
  const named = await aliases.named(tenant, alias);
  return [...named].map(([tag, { namedAtMs = 0 }]) => ({
    tag,
    buildID: buildIdOf(tenant, { alias, tag }),
    createdAt: new Date(namedAtMs).toISOString(),
  }));
}

/** The environment of images that name no other. */
const usualEnvironment = 'sandbox';
/** The one of images with build steps for root, if the fleet offers it. */
const rootEnvironment = 'sandbox-root';

/** Gives the name. Throws `invalid_request` for steps that no sandbox runs, and for images that are not allowed. */
async function nameImage(
  parts: E2bParts,
  tenant: TenantId,
  { alias, tag }: TemplateName,
  build: BuildStart,
): Promise<void> {
  refuseUnserved(build);
  const steps = compileSteps(build.steps ?? []);
  const named = await baseOf(parts, tenant, build, steps);
  const environment = await parts.core.environment(environmentRef(named.environment));
  if (named.image !== null) checkImage(environment, named.image);
  checkRoot(environment, steps);
  const setUp = { script: joinScripts(named.script ?? '', steps.script) };
  const workdir = steps.workdir ?? named.workdir;
  const whole = { ...named, ...setUp, ...(workdir && { workdir }), namedAtMs: parts.clock.nowMs() };
  if (await parts.aliases.name(tenant, alias, tag, whole)) return;
  throw invalid(
    'this tenant has 10,000 templates, or 16 MiB of them, or this one 64 tags, and no more are kept; use those, or wait 14 days without any',
  );
}

/** What the build begins with. */
async function baseOf(
  parts: E2bParts,
  tenant: TenantId,
  { fromImage, fromTemplate }: BuildStart,
  { needsRoot }: Steps,
): Promise<Named> {
  if (!fromImage) return templateOf(parts, tenant, fromTemplate ?? '');
  const isForRoot = needsRoot && isEnvironment(parts, rootEnvironment);
  return { environment: isForRoot ? rootEnvironment : usualEnvironment, image: fromImage };
}

function checkRoot({ name, template }: Environment, { needsRoot }: Steps): void {
  if (!needsRoot || template.runAs === 'root') return;
  throw invalid(
    `this template has build steps (RUN) for root, and the environment ${name} has run_as: user; ` +
      `offer an environment ${rootEnvironment} with run_as: root, or ${buildElsewhere}`,
  );
}

function refuseUnserved({ startCmd, readyCmd, fromImageRegistry }: BuildStart): void {
  if (startCmd || readyCmd) {
    throw invalid('templates have no start or ready command here; write it as `prepare` in an environment');
  }
  if (fromImageRegistry !== undefined && fromImageRegistry !== null) {
    throw invalid('registry credentials are the operator’s here; leave them out of the template');
  }
}

function checkImage(environment: Environment, image: string): void {
  const { template, name } = environment;
  if (!isOpenTemplate(template)) {
    throw invalid(
      `environment ${name} has an image of its own; images by template need one with image: {from: item.image}`,
    );
  }
  imageOfRow(name, template.image, { [template.image.field]: image });
}
