import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { serveOn } from '../../judge-server.ts';
import { type Asked, type Opinion, substance, tone } from './opinions.ts';

const Request = Compile(
  Type.Object({
    sample: Type.Object({ output_text: Type.Optional(Type.String()) }),
    item: Type.Object({ sources: Type.String() }),
  }),
);

/** Where ship-code.yaml asks. */
export const styleJudgesPort = 8941;

const judges: Readonly<Record<string, (asked: Asked) => Opinion>> = {
  '/tone': tone,
  '/substance': substance,
};

/** Both judges of ship-code, as its author would run them. */
export const serveStyleJudges = (): Promise<AsyncDisposable> =>
  serveOn(styleJudgesPort, (path, sent) => {
    const judge = judges[path];
    if (judge === undefined) return { status: 404, body: { error: 'no such judge' } };
    if (!Request.Check(sent)) return { status: 415, body: { error: 'not a message about a package' } };
    const message = sent.sample.output_text ?? '';
    return { status: 200, body: judge({ message, sources: sent.item.sources.split('\n') }) };
  });
