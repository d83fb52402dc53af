import { describe, expect, test } from 'vitest';
import { crossingsOf, describeCrossing, importsOf } from './crossings.ts';
import { rooms } from './rooms.ts';

const targets = (file: string, text: string) =>
  crossingsOf(file, text, rooms).map(({ imported }) => imported);

describe('imports are found', () => {
  test.each([
    [`import { a } from './a.ts';`, './a.ts'],
    [`import type { A } from '../model/a.ts';`, '../model/a.ts'],
    [`import './effect.ts';`, './effect.ts'],
    [`export * from './b.ts';`, './b.ts'],
    [`export type { B } from './b.ts';`, './b.ts'],
    [`} from 'undici';`, 'undici'],
    [`  const x = await import('node:fs');`, 'node:fs'],
  ])('%s', (text, specifier) => {
    expect(importsOf(text)).toEqual([{ specifier, line: 1 }]);
  });

  test('text that only looks like one is not an import', () => {
    expect(importsOf(`const sentence = "it comes from 'nowhere'";\n// import of 'x'`)).toEqual([]);
  });
});

describe('what a room may not import is a crossing', () => {
  test.each([
    ['src/model/ids.ts', `import { x } from '../failure/codes.ts';`, 'src/failure/codes.ts'],
    ['src/model/ids.ts', `import { x } from 'node:fs';`, 'node:fs'],
    ['src/ports/clock.ts', `import Redis from 'ioredis';`, 'ioredis'],
    ['src/pool/size.ts', `import { x } from '../lifecycle/expire.ts';`, 'src/lifecycle/expire.ts'],
    ['src/calls/run.ts', `import { x } from '../adapters/redis/a.ts';`, 'src/adapters/redis/a.ts'],
    ['src/adapters/redis/a.ts', `import { Queue } from 'bullmq';`, 'bullmq'],
    ['src/adapters/redis/a.ts', `import { x } from '../bullmq/b.ts';`, 'src/adapters/bullmq/b.ts'],
    ['src/protocol/sandboxd/wire.ts', `import { x } from '#src/model/ids.ts';`, 'src/model/ids.ts'],
    ['services/sandboxd/run.ts', `import { x } from '#src/model/ids.ts';`, 'src/model/ids.ts'],
    ['services/gateway/rft.ts', `import { x } from '#src/adapters/redis/a.ts';`, 'src/adapters/redis/a.ts'],
    ['services/gateway/wiring.ts', `import { x } from '../node/main.ts';`, 'services/node/main.ts'],
    ['cli/main.ts', `import { x } from '../services/gateway/main.ts';`, 'services/gateway/main.ts'],
    ['src/surprise/a.ts', ``, 'anything'],
    ['src/pool/size.test.ts', `import { x } from '../../test/fakes/clock.ts';`, 'test/fakes/clock.ts'],
  ])('%s: %s', (file, text, imported) => {
    expect(targets(file, text)).toEqual([imported]);
  });
});

describe('what a room may import is none', () => {
  test.each([
    ['src/failure/http.ts', `import type { Face } from '../model/face.ts';`],
    ['src/pool/size.ts', `import { x } from './counts.ts';`],
    ['src/adapters/redis/a.ts', `import { Redis } from 'ioredis';`],
    ['src/environments/load.ts', `import { parseDocument } from 'yaml';`],
    ['src/pool/size.test.ts', `import { fakeClock } from '#test/fakes/clock.ts';`],
    ['services/gateway/wiring.ts', `import { x } from '#src/adapters/redis/a.ts';`],
    ['services/gateway/core-wiring.ts', `import { x } from '#src/adapters/redis/a.ts';`],
    ['cli/fleet/start-fleet.ts', `import { createServer } from 'node:net';`],
    ['services/gateway/rft.ts', `import { x } from '@fastify/type-provider-typebox/sub';`],
  ])('%s: %s', (file, text) => {
    expect(targets(file, text)).toEqual([]);
  });
});

test('the message says where, what, which room and why', () => {
  const [crossing] = crossingsOf('src/model/ids.ts', `\nimport { x } from '../ports/clock.ts';`, rooms);
  expect(crossing && describeCrossing(crossing)).toBe(
    'src/model/ids.ts:2 imports src/ports/clock.ts, which the room "model" may not: ' +
      'the model is the nouns everybody shares; it depends on nobody',
  );
});
