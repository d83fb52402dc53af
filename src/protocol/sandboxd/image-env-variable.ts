/**
 * Carries an image's variables to sandboxd for its commands only: as JSON in one variable, so that the image's `LD_PRELOAD` or
 * `NODE_OPTIONS` never reaches sandboxd. In a pod the container engine sets them on sandboxd itself, and this is absent.
 */
const name = 'CORRAL_IMAGE_ENV';

type Variables = Readonly<Record<string, string>>;

/** For sandboxd's environment; nothing if the image has no variables. */
export const imageEnvVariable = (variables: Variables): { readonly [name]?: string } =>
  Object.keys(variables).length === 0 ? {} : { [name]: JSON.stringify(variables) };

/** Throws what is wrong with it. */
export function imageEnvIn(env: Readonly<Record<string, string | undefined>>): Variables {
  const value: unknown = JSON.parse(env[name] ?? '{}');
  if (typeof value !== 'object' || value === null) throw new Error(`${name} is not an object`);
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]));
}
