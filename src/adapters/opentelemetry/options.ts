export type TracerOptions = {
  /** Of an OTLP receiver over HTTP, without `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traces that is kept, by their ids. */
  readonly ratio: number;
  readonly resource: Readonly<Record<string, string>>;
};

/** Who writes the spans: `corral-gateway`, and the fleet that it is of. */
export type TracedProcess = { readonly service: string; readonly fleet: string };
