import { faceOfPath, faces, headerParameters, headersOf, reference, securityOf } from './faces.ts';
import { nameSchemas, type Schemas, unnullable } from './schemas.ts';

/**
 * The OpenAPI 3.1 document of all faces, from the very schemas that check requests: JSON Schema is the language of both, so
 * nothing is translated and nothing can drift.
 */

export type DescribedRoute = {
  readonly method: string;
  /** As the router writes it: `/v1/rollouts/:id/files/*`. */
  readonly path: string;
  readonly schema: RouteSchema;
};

export type RouteSchema = {
  readonly operationId?: string;
  readonly summary?: string;
  readonly params?: unknown;
  readonly querystring?: unknown;
  /** Headers that it reads. */
  readonly headers?: unknown;
  readonly body?: unknown;
  /** Media types of a body that is no JSON; it is bytes where `body` says nothing else. */
  readonly consumes?: readonly string[];
  readonly response?: unknown;
  /** Headers that an answer may have. */
  readonly answerHeaders?: unknown;
  /** The media type of an answer that is no JSON. */
  readonly produces?: string;
};

/** The error bodies: of every face, and of E2B's, whose clients read two members of their own next to it. */
export type FailureSchemas = { readonly usual: unknown; readonly e2b: unknown };

/** What a generator turns into the type of bytes. */
const bytes = { type: 'string', format: 'binary' };

/** Several files in one body. */
const multipart = 'multipart/form-data';
const parts = { type: 'object', properties: { file: bytes } };

/** The document of these routes. Throws if two schemas that differ have one title. */
export function buildDocument(
  routes: readonly DescribedRoute[],
  version: string,
  failures: FailureSchemas,
): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const operations = (paths[toTemplate(route.path)] ??= {});
    operations[route.method.toLowerCase()] = buildOperation(route);
  }
  const schemas: Schemas = {};
  const named = nameSchemas({ paths, responses: buildFailures(failures) }, schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Corral',
      version,
      description: 'The gateway of a fleet: one sandbox for each rollout, and every failure attributed.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the address of this document: the gateway that returned it.
    servers: [{ url: '/', description: 'this gateway' }],
    security: [{ bearer: [] }],
    tags: Object.entries(faces).map(([name, description]) => ({ name, description })),
    paths: named['paths'],
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'an API key' },
        e2bKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'an API key' },
        e2bPass: {
          type: 'apiKey',
          in: 'header',
          name: 'x-access-token',
          description: 'envdAccessToken of the sandbox',
        },
      },
      parameters: headerParameters,
      responses: named['responses'],
      schemas,
    },
  };
}

/** Both carry when to come again, if the same request may be repeated. */
function buildFailures({ usual, e2b }: FailureSchemas) {
  const headers = {
    'retry-after': {
      description: 'seconds until the same request may succeed; with 503 only',
      schema: { type: 'integer', minimum: 0 },
    },
  };
  const failure = (schema: unknown) => ({
    description: 'a failure of the table in docs/failures.md',
    headers,
    content: { 'application/json': { schema } },
  });
  return { Failure: failure(usual), E2bFailure: failure(e2b) };
}

/** `/v1/rollouts/:id/files/*` → `/v1/rollouts/{id}/files/{path}` */
function toTemplate(path: string): string {
  return path.replaceAll(/:([a-z_]+)/g, '{$1}').replace(/\*$/, '{path}');
}

function buildOperation({ path, schema }: DescribedRoute) {
  const face = faceOfPath(path);
  return {
    operationId: `${schema.operationId}${path.startsWith('/e2b/runs/') ? 'OfRun' : ''}`,
    tags: [face],
    summary: schema.summary,
    ...securityOf(face, path),
    parameters: [
      ...headersOf(face, path),
      ...buildPathParameters(path, schema.params),
      ...buildParameters('query', schema.querystring),
      ...buildParameters('header', schema.headers),
    ],
    ...buildBody(schema),
    responses: {
      ...buildResponses(schema),
      default: reference('responses', face === 'e2b' ? 'E2bFailure' : 'Failure'),
    },
  };
}

type ObjectSchema = {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
};

/** Every name in the address, as the route describes it or as text. */
function buildPathParameters(path: string, schema: unknown) {
  const { properties = {} } = (schema ?? {}) as ObjectSchema;
  const names = path.split('/').filter((part) => part.startsWith(':') || part === '*');
  return names.map((written) => ({
    name: written === '*' ? 'path' : written.slice(1),
    in: 'path',
    required: true,
    schema: properties[written.replace(':', '')] ?? { type: 'string' },
  }));
}

function buildParameters(place: 'query' | 'header', schema: unknown) {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, value]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: value,
  }));
}

/** A body that may be `null` may be left out. */
function buildBody({ body, consumes }: RouteSchema) {
  if (body === undefined && consumes === undefined) return {};
  const { schema, isNullable } = unnullable(body ?? bytes);
  const types = consumes ?? ['application/json'];
  return {
    requestBody: {
      required: !isNullable,
      content: Object.fromEntries(
        types.map((type) => [type, { schema: type === multipart ? parts : schema }]),
      ),
    },
  };
}

const meanings: Readonly<Record<string, string>> = {
  200: 'done',
  201: 'created',
  202: 'accepted; the work goes on',
  204: 'done; there is nothing to return',
  503: 'not ready',
};

function buildResponses({ response, answerHeaders, produces = 'application/json' }: RouteSchema) {
  const answers = Object.entries(
    (response ?? {}) as Readonly<Record<string, ObjectSchema & { type?: unknown }>>,
  );
  return Object.fromEntries(
    answers.map(([status, schema]) => [
      status,
      {
        description: meanings[status] ?? 'done',
        ...(answerHeaders === undefined ? {} : { headers: buildAnswerHeaders(answerHeaders) }),
        ...(schema.type === 'null' ? {} : { content: { [produces]: { schema } } }),
      },
    ]),
  );
}

function buildAnswerHeaders(schema: unknown) {
  const { properties = {} } = schema as ObjectSchema;
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, { schema: value }]));
}
