import type { WriteStream } from 'node:tty';

/** The block is redrawn this often on a terminal; elsewhere a plain line appears every few seconds. */
const redrawMs = 150;
const plainLineMs = 3000;

export type LiveView = { readonly block: () => readonly string[]; readonly line: () => string };

/** Shows a view until it is stopped; the last state stays on the screen. Returns how to stop. */
export function showLive(view: LiveView, out: WriteStream): () => void {
  return out.isTTY ? redrawing(view, out) : printing(view, out);
}

function redrawing(view: LiveView, out: WriteStream): () => void {
  let drawn = 0;
  const draw = () => {
    // A line wider than the terminal would wrap and spoil the count of lines to go back.
    const lines = view.block().map((line) => line.slice(0, out.columns));
    const back = drawn === 0 ? '' : `\u001B[${drawn}A`;
    out.write(back + lines.map((line) => `\u001B[2K${line}\n`).join(''));
    drawn = lines.length;
  };
  draw();
  const timer = setInterval(draw, redrawMs);
  return () => {
    clearInterval(timer);
    draw();
  };
}

function printing(view: LiveView, out: WriteStream): () => void {
  const print = () => out.write(`${view.line()}\n`);
  const timer = setInterval(print, plainLineMs);
  return () => {
    clearInterval(timer);
    print();
  };
}
