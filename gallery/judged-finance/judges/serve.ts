import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { makeLibrary, seed } from '../../generators/finance-docs/library.ts';
import type { Page } from '../../generators/finance-docs/page.ts';
import { type Asked, facts, form, gullible, type Opinion } from './opinions.ts';

/** What a judge is sent, as far as these look at it. */
const Request = Compile(
  Type.Object({
    sample: Type.Object({ output_text: Type.Optional(Type.String()) }),
    item: Type.Object({ pages: Type.String() }),
  }),
);

/** `hardened`: both judges are as they should be; `gullible`: the one of facts believes what it reads. */
export type Manner = 'hardened' | 'gullible';

export type Judges = AsyncDisposable & { manner: Manner };

/** Where judged-finance.yaml asks. */
export const judgesPort = 8931;

/** Both judges of judged-finance, as its author would run them: servers of their own, which have the pages. */
export async function serveJudges(manner: Manner = 'hardened'): Promise<Judges> {
  const pages = new Map(makeLibrary(seed).pages.map((page) => [page.filename, page]));
  const judges = { manner, [Symbol.asyncDispose]: () => stop(server) };
  const opinions = {
    '/facts': (asked: Asked) => (judges.manner === 'gullible' ? gullible : facts)(asked),
    '/form': form,
  };
  const server = createServer((request, response) => {
    const judge = Object.entries(opinions).find(([path]) => path === request.url)?.[1];
    void answer(request, pages, judge).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  server.listen(judgesPort, '127.0.0.1');
  await once(server, 'listening');
  return judges;
}

type Answer = { readonly status: number; readonly body: object };

async function answer(
  request: IncomingMessage,
  pages: ReadonlyMap<string, Page>,
  judge: ((asked: Asked) => Opinion) | undefined,
): Promise<Answer> {
  if (judge === undefined) return { status: 404, body: { error: 'no such judge' } };
  const sent = parsed(await text(request));
  if (!Request.Check(sent)) return { status: 415, body: { error: 'not a memo with its pages' } };
  const own = sent.item.pages.split('\n').flatMap((path) => pages.get(path) ?? []);
  return { status: 200, body: judge({ memo: sent.sample.output_text ?? '', pages: own }) };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
