import { KeyAnswer } from '#src/protocol/native/key.ts';
import type { App } from '../http/app.ts';
import { grantOf } from '../http/identify.ts';

/** Programs that people log in to with a key ask it, so that they show only what the key may read. */
export function keyRoute(app: App): void {
  app.get(
    '/key',
    {
      config: { onlyReads: true },
      schema: {
        operationId: 'getKey',
        summary: 'What the key of this request may do',
        response: { 200: KeyAnswer },
      },
    },
    (request) => {
      const { keyId: key, tenant, scopes } = grantOf(request);
      return { key, tenant, scopes: [...scopes] };
    },
  );
}
