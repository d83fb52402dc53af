import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { makeLibrary, seed } from '../../generators/finance-docs/library.ts';
import type { Page } from '../../generators/finance-docs/page.ts';
import { type Answer, serveOn } from '../../judge-server.ts';
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
  const opinions: Readonly<Record<string, (asked: Asked) => Opinion>> = {
    '/facts': (asked) => (judges.manner === 'gullible' ? gullible : facts)(asked),
    '/form': form,
  };
  const server = await serveOn(judgesPort, (path, sent) => answer(sent, pages, opinions[path]));
  const judges = { manner, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  return judges;
}

function answer(
  sent: unknown,
  pages: ReadonlyMap<string, Page>,
  judge: ((asked: Asked) => Opinion) | undefined,
): Answer {
  if (judge === undefined) return { status: 404, body: { error: 'no such judge' } };
  if (!Request.Check(sent)) return { status: 415, body: { error: 'not a memo with its pages' } };
  const own = sent.item.pages.split('\n').flatMap((path) => pages.get(path) ?? []);
  return { status: 200, body: judge({ memo: sent.sample.output_text ?? '', pages: own }) };
}
