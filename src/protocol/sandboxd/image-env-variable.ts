/**
 * How sandboxd gets the variables of an image that are its commands' alone: as JSON in one of its own, so that an `LD_PRELOAD` or
 * a `NODE_OPTIONS` of the image never reaches sandboxd. A container engine gives them to sandboxd itself, and nothing is here.
 */
const name = 'CORRAL_IMAGE_ENV';

type Variables = Readonly<Record<string, string>>;

/** For sandboxd's environment; nothing where the image has none. */
export const imageEnvVariable = (variables: Variables): { readonly [name]?: string } =>
  Object.keys(variables).length === 0 ? {} : { [name]: JSON.stringify(variables) };

/** Throws what is wrong with it. */
export function imageEnvIn(env: Readonly<Record<string, string | undefined>>): Variables {
  const value: unknown = JSON.parse(env[name] ?? '{}');
  if (typeof value !== 'object' || value === null) throw new Error(`${name} is not an object`);
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]));
}
