import type { SandboxId } from '#src/model/ids.ts';

/** Something about each of the sandboxes that were touched last; older ones are forgotten. */
export type Recent<Value> = {
  set(sandbox: SandboxId, value: Value): void;
  get(sandbox: SandboxId): Value | undefined;
  delete(sandbox: SandboxId): void;
  values(): Iterable<Value>;
};

export function createRecent<Value>(most: number): Recent<Value> {
  const values = new Map<SandboxId, Value>();
  return {
    set: (sandbox, value) => {
      values.delete(sandbox);
      values.set(sandbox, value);
      for (const oldest of values.keys()) {
        if (values.size <= most) return;
        values.delete(oldest);
      }
    },
    get: (sandbox) => values.get(sandbox),
    delete: (sandbox) => values.delete(sandbox),
    values: () => values.values(),
  };
}
