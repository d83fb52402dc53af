import type { FastifyRequest } from 'fastify';
import type { Environment } from '#src/model/environment.ts';
import { longestCommandMs } from '#src/protocol/native/calls.ts';
import {
  EnvironmentParams,
  EnvironmentsAnswer,
  TrainingJobAnswer,
} from '#src/protocol/native/environments.ts';
import { type JobEndpoint, toolDefinitions } from '#src/tools/tool-definitions.ts';
import type { GatewayCore } from '../core-interface.ts';
import type { App } from '../http/app.ts';
import { callerOf } from '../http/identify.ts';
import { environmentRef } from '../http/taking.ts';

/** What there is to run in, and how a training job is told of it. */
export function environmentRoutes(app: App, core: GatewayCore): void {
  app.get(
    '/environments',
    {
      config: { onlyReads: true },
      schema: {
        operationId: 'listEnvironments',
        summary: 'What exists',
        response: { 200: EnvironmentsAnswer },
      },
    },
    () => ({ environments: core.environments().map(presentEnvironment) }),
  );

  app.get(
    '/environments/:name/tools',
    {
      config: { onlyReads: true },
      schema: {
        operationId: 'getEnvironmentTools',
        summary: "The tools and grader of a training job's configuration, and the limits of each command",
        params: EnvironmentParams,
        response: { 200: TrainingJobAnswer },
      },
    },
    async (request) => {
      const environment = await core.environment(environmentRef(request.params.name));
      const { tools, grader, functions } = toolDefinitions(environment, endpointOf(request));
      const limits = presentLimits(environment);
      return { tools: [...tools], grader, functions: [...functions], limits };
    },
  );
}

/** The gateway as the asker reached it. The key is left for him to fill in: an answer never repeats a secret. */
function endpointOf(request: FastifyRequest): JobEndpoint {
  return {
    baseUrl: `${request.protocol}://${request.host}`,
    headers: { authorization: 'Bearer <API key>', 'x-corral-run': callerOf(request, 'native').run },
  };
}

/** What an adapter must know before it opens a rollout, so that it need not find out by a failed command. */
function presentLimits({ template, limits }: Environment) {
  return {
    run_as: template.runAs,
    folders: [...(template.folders ?? [])],
    longest_timeout_s: longestCommandMs / 1000,
    output_bytes: limits.outputBytes,
  };
}

function presentEnvironment(environment: Environment) {
  return {
    name: environment.name,
    version: environment.version,
    description: environment.description,
    tools: Object.keys(environment.tools),
    grader: environment.grader.kind,
    network: environment.template.network,
  };
}
