import { seededRandom } from '#demo/seeded-random.ts';
import { systemRandom } from '#src/platform/random.ts';
import { createFakeRandom } from '../fakes/random.ts';
import { Chance } from '../simulation/engine/chance.ts';
import { describeRandom } from './random.ts';

describeRandom('the operating system’s', () => systemRandom);
describeRandom('the fake of tests', () => createFakeRandom([0, 0.5, 0.999]));
describeRandom('the seeded one of demo and load test', () => seededRandom('contract'));
describeRandom('the simulator’s', () => new Chance('contract'));
