import type { FastifyReply } from 'fastify';
import { chooseTemplate } from '#src/environments/choose-template.ts';
import { Failure } from '#src/failure/failure.ts';
import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import type { TenantId } from '#src/model/ids.ts';
import type { AliasStore } from '#src/ports/fleet/registry.ts';
import { AliasParams, BuildParams, BuildStart, NewTemplate, RunParams } from '#src/protocol/e2b/control.ts';
import {
  BuildStatus,
  described,
  Nothing,
  TemplateAlias,
  TemplateMade,
  versioned,
} from '#src/protocol/e2b/described.ts';
import type { GatewayCore } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { environmentRef } from '../http/taking.ts';
import { controllerOf } from './identify.ts';
import type { E2bParts } from './parts.ts';
import type { Template } from './sandbox.ts';

/*
 * A template is one of our environments, by its name, or a name that a client gave to an image by "building" it: nothing is
 * built, and what a build would run is refused. The image becomes the row's, in the environment that takes its image from there.
 */

/** Templates as their clients ask, make and wait for them: a name is given at once, so every build that is known is ready. */
export function templateRoutes(app: App, parts: E2bParts): void {
  const asking = described('e2bGetTemplateAlias', 'Whether a template exists', { 200: TemplateAlias });
  app.get(
    '/templates/aliases/:alias',
    { schema: { ...asking, params: AliasParams } },
    async (request, reply) => {
      const { alias } = request.params;
      const found = await findTemplate(parts, controllerOf(request).tenant, alias);
      return found === null ? answerNone(reply, alias) : { templateID: alias, public: false };
    },
  );

  for (const path of ['/v3/templates', '/v2/templates']) {
    const making = described(versioned('e2bCreateTemplate', path), 'Name a template', { 202: TemplateMade });
    app.post(
      path,
      { schema: { ...making, params: RunParams, body: NewTemplate } },
      async (request, reply) => {
        const { name, alias = name, tags = [] } = request.body;
        const given = newAlias(parts, [alias, ...tags.filter((tag) => tag !== 'default')].join(':'));
        const buildID = parts.random.text(20);
        const names = { names: [given], aliases: [given], tags: ['default'] };
        return reply.code(202).send({ templateID: given, buildID, public: false, ...names });
      },
    );
  }

  app.post(
    '/v2/templates/:template/builds/:build',
    {
      schema: {
        ...described('e2bStartBuild', 'Give the template its image', { 202: Nothing }),
        params: BuildParams,
        body: BuildStart,
      },
    },
    async (request, reply) => {
      const alias = newAlias(parts, request.params.template);
      await nameImage(parts, controllerOf(request).tenant, alias, request.body);
      return reply.code(202).send();
    },
  );

  app.get(
    '/templates/:template/builds/:build/status',
    {
      schema: {
        ...described('e2bGetBuildStatus', 'A build, which is always ready', { 200: BuildStatus }),
        params: BuildParams,
      },
    },
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

type Deps = {
  readonly core: Pick<GatewayCore, 'environment' | 'environments'>;
  readonly aliases: AliasStore;
};

/** The environment of images that name no other. */
const usualEnvironment = 'sandbox';
/** What the SDK asks for if its user names no template, and the environment that serves it if nothing else has the name. */
const defaultTemplate = { name: 'base', environment: 'shell' };

/** Templates have one tag, which may be written or left out. */
function untagged(name: string): string | null {
  const [alias = '', tag = 'default', ...rest] = name.split(':');
  return tag === 'default' && rest.length === 0 ? alias : null;
}

/** Null: there is none such. */
async function findTemplate(deps: Deps, tenant: TenantId, name: string): Promise<Template | null> {
  const alias = untagged(name);
  if (alias === null || alias === '') return null;
  if (isEnvironment(deps, alias)) return { environment: alias, image: null };
  const named = await deps.aliases.named(tenant, alias);
  if (named !== null || alias !== defaultTemplate.name) return named;
  const { environment } = defaultTemplate;
  return isEnvironment(deps, environment) ? { environment, image: null } : null;
}

function isEnvironment({ core }: Deps, name: string): boolean {
  return core.environments().some((environment) => environment.name === name.split('@', 1)[0]);
}

/** Throws `unknown_environment`. */
export async function templateOf(deps: Deps, tenant: TenantId, name: string): Promise<Template> {
  const template = await findTemplate(deps, tenant, name);
  if (template !== null) return template;
  const known = deps.core.environments().map((environment) => environment.name);
  throw new Failure(
    'unknown_environment',
    `there is no template ${JSON.stringify(name.slice(0, 100))}; build it from an image, or use an environment: ${known.join(', ')}`,
  );
}

const aliasPattern = /^[A-Za-z0-9][\w.-]{0,127}$/;

/** The alias that a build will give. Throws `invalid_request` where it cannot be one. */
function newAlias(deps: Deps, name: string | undefined): string {
  const alias = untagged(name ?? '');
  if (alias === null) throw invalid('templates have no tags here but "default"');
  if (!aliasPattern.test(alias)) {
    throw invalid(
      'a template is named by 1 to 128 letters, digits, "_", "-" and ".", the first of them a letter or digit',
    );
  }
  if (isEnvironment(deps, alias)) {
    throw invalid(
      `${alias} is an environment of the fleet and needs no build; give the template another name`,
    );
  }
  return alias;
}

/** Gives the alias. Throws `invalid_request` for what would have to be built, and for images that may not be. */
async function nameImage(deps: Deps, tenant: TenantId, alias: string, build: BuildStart): Promise<void> {
  refuseSteps(build);
  const named = build.fromImage
    ? { environment: usualEnvironment, image: build.fromImage }
    : await templateOf(deps, tenant, build.fromTemplate ?? '');
  if (named.image !== null)
    checkImage(await deps.core.environment(environmentRef(named.environment)), named.image);
  if (!(await deps.aliases.name(tenant, alias, named))) {
    throw invalid(
      'this tenant has 10,000 templates, and no more are kept; use those, or wait 14 days without any',
    );
  }
}

function refuseSteps({ steps = [], startCmd, readyCmd, fromImageRegistry }: BuildStart): void {
  if (steps.length > 0) {
    const types = [...new Set(steps.map(({ type = 'step' }) => type.slice(0, 20)))].join(', ');
    throw invalid(
      `nothing is built here, and this template has build steps (${types}): build the image elsewhere and use from_image, ` +
        'or write what they do as `prepare` in an environment',
    );
  }
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
  chooseTemplate(environment, { [template.image.field]: image });
}
