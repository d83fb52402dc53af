/**
 * Carries the variables by which package managers find the mirrors of a sandbox to sandboxd: as JSON in one variable, so that commands and
 * graders get them, and those of an image or an environment come before them.
 */
const name = 'CORRAL_PACKAGE_VARIABLES';

type Variables = Readonly<Record<string, string>>;

/** For sandboxd's environment; nothing without variables. */
export const packageVariablesVariable = (variables: Variables): { readonly [name]?: string } =>
  Object.keys(variables).length === 0 ? {} : { [name]: JSON.stringify(variables) };

/** Throws what is wrong with it. */
export function packageVariablesIn(env: Readonly<Record<string, string | undefined>>): Variables {
  const value: unknown = JSON.parse(env[name] ?? '{}');
  if (typeof value !== 'object' || value === null) throw new Error(`${name} is not an object`);
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]));
}
