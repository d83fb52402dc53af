/**
 * The ways in. `rft` may only ever answer 200 or 5xx, because its platforms show a 4xx body to the model; `native` is ours;
 * `e2b` is the wire of E2B's sandboxes, whose clients know our failures by what E2B would say.
 */
export type Face = 'rft' | 'native' | 'e2b';
