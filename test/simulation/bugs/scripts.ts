import type { Planted } from '../world.ts';

/** Replaces texts of the scripts, given as pairs. A text that is not there (any more) is an error, not a bug that cannot be found. */
export function replacing(...pairs: readonly string[]): Planted {
  return {
    patchScripts: (library) => {
      let patched = library;
      for (let index = 0; index < pairs.length; index += 2) {
        const [from = '', to = ''] = pairs.slice(index, index + 2);
        if (!patched.includes(from)) throw new Error(`the scripts no longer say: ${from}`);
        patched = patched.replaceAll(from, to);
      }
      return patched;
    },
  };
}
