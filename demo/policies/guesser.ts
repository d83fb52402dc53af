import { actOnce, answer, type Policy, shell } from './policy.ts';
import { shuffled } from '../seeded-random.ts';

/** Paths that exist in many packages. */
const usual = ['index.js', 'README.md', 'index.d.ts', 'lib/index.js', 'package.json'];

/** Reads the README's beginning and names usual paths and such as the README mentions. */
export const guesser: Policy = {
  name: 'guesser',
  skill: 'reads the README only',
  async play(_sight, act, random) {
    const readme = await actOnce(act, shell('cd repo && head -c 12000 README.md'));
    const mentioned = readme.match(/\b(?:lib|dist|docs)\/[\w./-]+\w/g) ?? [];
    const guesses = new Set(shuffled([...mentioned.slice(0, 3), ...usual], random).slice(0, 3));
    return answer([...guesses]);
  },
};
