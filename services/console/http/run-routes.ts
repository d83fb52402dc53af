import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Failure } from '#src/failure/failure.ts';
import { idRule, isIdText } from '#src/model/ids.ts';
import { RunAnswer, SearchAnswer } from '#src/protocol/console/run.ts';
import { RunsAnswer } from '#src/protocol/console/runs.ts';
import { listRuns } from '../list-runs.ts';
import type { RunReaders } from '../run-readers.ts';
import { searchCommands, type TextSearches } from '../search.ts';
import type { Session } from '../sessions.ts';
import type { App } from './app.ts';

export type ReadingDeps = {
  readonly sessionOf: (request: FastifyRequest) => Promise<Session>;
  readonly readers: RunReaders;
};

const RunParams = Type.Object({ run: Type.String() });

/** What a person types. */
const searchText = Type.String({ minLength: 1, maxLength: 200 });
export const TextQuery = Type.Object({ q: searchText });
const SearchQuery = Type.Object({ q: searchText, in: Type.Optional(Type.Literal('outputs')) });

export function runRoutes(
  app: App,
  { sessionOf, readers, searches }: ReadingDeps & { readonly searches: TextSearches },
): void {
  app.get(
    '/api/runs',
    {
      schema: {
        querystring: Type.Object({ cursor: Type.Optional(Type.String({ pattern: '^[0-9]{1,6}$' })) }),
        response: { 200: RunsAnswer },
      },
    },
    async (request) => listRuns(await sessionOf(request), readers, Number(request.query.cursor ?? 0)),
  );

  app.get(
    '/api/runs/:run',
    {
      schema: {
        params: RunParams,
        querystring: Type.Object({ rev: Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$' })) }),
        response: { 200: RunAnswer, 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const reader = await readers.of(await sessionOf(request), idIn(request.params.run));
      const answer = await reader.read();
      // A page that has it already reads nothing again.
      if (!answer.reading && request.query.rev === String(answer.rev)) return reply.code(204).send(null);
      return answer;
    },
  );

  app.get(
    '/api/runs/:run/search',
    {
      schema: {
        params: RunParams,
        querystring: SearchQuery,
        response: { 200: SearchAnswer },
      },
    },
    async (request) => {
      const reader = await readers.of(await sessionOf(request), idIn(request.params.run));
      const { q, in: where } = request.query;
      return where === 'outputs'
        ? searches.search(await reader.view(), q)
        : searchCommands(await reader.view(), q);
    },
  );
}

export function idIn(text: string): string {
  if (isIdText(text)) return text;
  throw new Failure('invalid_request', `a name must be ${idRule}`);
}
