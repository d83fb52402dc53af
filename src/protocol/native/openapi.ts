/**
 * The OpenAPI 3.1 document of the native face, from the very schemas that check its requests: JSON Schema is the
 * language of both, so nothing is translated and nothing can drift.
 */

export type DescribedRoute = {
  readonly method: string;
  /** As the router writes it: `/v1/rollouts/:id/files/*`. */
  readonly path: string;
  readonly schema: RouteSchema;
};

export type RouteSchema = {
  readonly summary?: string;
  readonly params?: unknown;
  readonly querystring?: unknown;
  readonly body?: unknown;
  readonly response?: unknown;
};

type ObjectSchema = {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
};

/** The document; `error` is the schema of every answer that is not listed by the route itself. */
export function openApiDocument(routes: readonly DescribedRoute[], version: string, error: unknown) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const operations = (paths[templateOf(route.path)] ??= {});
    operations[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Corral', version, description: 'The native face of the gateway.' },
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: error },
    },
  };
}

/** `/v1/rollouts/:id/files/*` → `/v1/rollouts/{id}/files/{path}` */
function templateOf(path: string): string {
  return path.replaceAll(/:([a-z_]+)/g, '{$1}').replace(/\*$/, '{path}');
}

function operationOf({ schema }: DescribedRoute) {
  return {
    ...(schema.summary === undefined ? {} : { summary: schema.summary }),
    parameters: [...parametersOf('path', schema.params), ...parametersOf('query', schema.querystring)],
    ...(schema.body === undefined ? {} : { requestBody: { required: true, content: json(schema.body) } }),
    responses: responsesOf(schema.response),
  };
}

function parametersOf(place: 'path' | 'query', schema: unknown) {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, value]) => ({
    name: name === '*' ? 'path' : name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: value,
  }));
}

function responsesOf(response: unknown) {
  const listed = Object.entries((response ?? {}) as Readonly<Record<string, unknown>>).map(
    ([status, schema]) => [status, { description: 'the answer', content: json(schema) }] as const,
  );
  const failure = {
    description: 'a failure of the table',
    content: json({ $ref: '#/components/schemas/Error' }),
  };
  return { ...Object.fromEntries(listed), default: failure };
}

const json = (schema: unknown) => ({ 'application/json': { schema } });
