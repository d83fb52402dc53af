/** The two ways in: `rft` may only ever answer 200 or 5xx, because its platforms show a 4xx body to the model. */
export type Face = 'rft' | 'native';
