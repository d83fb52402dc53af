import { visibleLines } from '#src/model/visible-text.ts';

/** Where a command speaks. Results go to standard output, remarks and progress to standard error. */
export type Terminal = {
  result(text: string): void;
  remark(text: string): void;
  /** Columns a line may have; Infinity if the output is not a terminal. */
  readonly width: number;
};

const narrowest = 60;

export const processTerminal: Terminal = {
  result: (text) => void process.stdout.write(`${text}\n`),
  remark: (text) => void process.stderr.write(`${text}\n`),
  width: process.stdout.isTTY ? Math.max(process.stdout.columns, narrowest) : Infinity,
};

/** Ends this process, as programs do, if who reads its output has read enough: `corral runs | head`. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit();
    });
  }
}

/** The one way from a command to a terminal: nothing that is said through it is an order to the terminal. */
export const withoutOrders = (terminal: Terminal): Terminal => ({
  result: (text) => terminal.result(visibleLines(text)),
  remark: (text) => terminal.remark(visibleLines(text)),
  width: terminal.width,
});

/** `--json` prints the data as it is, otherwise what `describe` makes of it for a person. */
export function show<Data>(
  terminal: Terminal,
  json: boolean,
  data: Data,
  describe: (data: Data) => string,
): void {
  terminal.result(json ? JSON.stringify(data, null, 2) : describe(data));
}
