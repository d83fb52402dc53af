const pattern = /\{(\w+)\}/g;

/** One of the environment's texts with its `{names}` filled in; a name without a value stays as written. */
export function fillText(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(pattern, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}
