import type { Environment, JsonSchema } from '../model/environment.ts';

/** What a training job is told of our side: static headers carry the API key and the run's name. */
export type JobEndpoint = {
  /** Where the gateway is reached from the trainer, without a slash at the end. */
  readonly baseUrl: string;
  /** Sent with every tool and grader call, for example `authorization` and `x-corral-run`. */
  readonly headers: Readonly<Record<string, string>>;
};

export type ToolDefinitions = {
  /** For the job's `tools`. */
  readonly tools: readonly {
    readonly name: string;
    readonly server_url: string;
    readonly headers: Readonly<Record<string, string>>;
  }[];
  /** For the job's `grader`; null where the trainer grades by itself. */
  readonly grader: {
    readonly type: 'endpoint';
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
  } | null;
  /** For each dataset row's `tools`: what the chat template shows to the model. */
  readonly functions: readonly {
    readonly type: 'function';
    readonly function: {
      readonly name: string;
      readonly description: string;
      readonly parameters: JsonSchema;
    };
  }[];
};

/** The exact JSON for a training job that uses the environment. A run pins the version at its first call. */
export function toolDefinitions(
  environment: Pick<Environment, 'name' | 'tools' | 'grader'>,
  { baseUrl, headers }: JobEndpoint,
): ToolDefinitions {
  const face = `${baseUrl.replace(/\/+$/, '')}/rft/${encodeURIComponent(environment.name)}`;
  const tools = Object.values(environment.tools);
  return {
    tools: tools.map(({ name }) => ({
      name,
      server_url: `${face}/tools/${encodeURIComponent(name)}`,
      headers,
    })),
    grader: environment.grader.kind === 'none' ? null : { type: 'endpoint', url: `${face}/grade`, headers },
    functions: tools.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    })),
  };
}
