import { Type } from 'typebox';
import { ownerOf } from '#src/model/rollout.ts';
import { CallSearchAnswer, CallTextsAnswer, ConsoleRolloutAnswer } from '#src/protocol/console/rollout.ts';
import { type KeptTexts, textOf } from '../call-texts.ts';
import { findRollout, readRollout } from '../rollout-reader.ts';
import { finderOf } from '../search.ts';
import type { App } from './app.ts';
import { idIn, type ReadingDeps, TextQuery } from './run-routes.ts';

const params = { run: Type.String(), id: Type.String() };
const RolloutParams = Type.Object(params);
const CallParams = Type.Object({ ...params, call: Type.String() });
const AttemptQuery = Type.Object({ attempt: Type.Optional(Type.String({ pattern: '^[0-9]{1,6}$' })) });

type Named = {
  readonly params: { readonly run: string; readonly id: string };
  readonly query: { readonly attempt?: string };
};

const wantedBy = ({ params: { id }, query: { attempt = '1' } }: Named) => ({
  id: idIn(id),
  attempt: Number(attempt),
});

export function rolloutRoutes(
  app: App,
  { sessionOf, readers, texts }: ReadingDeps & { readonly texts: KeptTexts },
): void {
  app.get(
    '/api/runs/:run/rollouts/:id',
    {
      schema: { params: RolloutParams, querystring: AttemptQuery, response: { 200: ConsoleRolloutAnswer } },
    },
    async (request) => {
      const session = await sessionOf(request);
      const reader = await readers.of(session, idIn(request.params.run));
      return readRollout(reader, wantedBy(request), session, texts);
    },
  );

  app.get(
    '/api/runs/:run/rollouts/:id/calls/:call',
    { schema: { params: CallParams, querystring: AttemptQuery, response: { 200: CallTextsAnswer } } },
    async (request) => {
      const reader = await readers.of(await sessionOf(request), idIn(request.params.run));
      const { key } = findRollout((await reader.view()).view, wantedBy(request));
      const kept = (await texts.ofRollout(key)).byCall.get(idIn(request.params.call));
      return { asked: textOf(kept?.arguments), output: textOf(kept?.output) };
    },
  );

  app.get(
    '/api/runs/:run/rollouts/:id/search',
    {
      schema: {
        params: RolloutParams,
        querystring: Type.Evaluate(Type.Intersect([AttemptQuery, TextQuery])),
        response: { 200: CallSearchAnswer },
      },
    },
    async (request) => {
      const reader = await readers.of(await sessionOf(request), idIn(request.params.run));
      const { key } = findRollout((await reader.view()).view, wantedBy(request));
      const has = finderOf(request.query.q);
      const found = [...(await texts.ofRollout(key)).byCall].filter(
        ([, { arguments: asked, output }]) => has(asked?.text) || has(output?.text),
      );
      return { calls: found.map(([call]) => call) };
    },
  );

  app.get(
    '/api/runs/:run/rollouts/:id/download',
    { schema: { params: RolloutParams, querystring: AttemptQuery } },
    async (request, reply) => {
      const reader = await readers.of(await sessionOf(request), idIn(request.params.run));
      const { key } = findRollout((await reader.view()).view, wantedBy(request));
      const kept = [...(await texts.ofRollout(key)).byCall].map(([call, text]) =>
        JSON.stringify({ kind: 'call_text', call, arguments: text.arguments, output: text.output }),
      );
      const lines = [...new Set(reader.linesOf(key)), ...kept];
      return reply
        .header('content-disposition', `attachment; filename="${fileName(ownerOf(key).rollout)}.jsonl"`)
        .header('content-security-policy', "sandbox; default-src 'none'")
        .type('text/plain; charset=utf-8')
        .send(lines.map((line) => `${line}\n`).join(''));
    },
  );
}

/** An id may have characters that mean something in a header or in a path. */
const fileName = (id: string): string => id.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, 100);
