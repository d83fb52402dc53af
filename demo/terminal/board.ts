import type { WriteStream } from 'node:tty';
import type { RolloutEvent } from '../trainer/record.ts';

/** Where a rollout stands, as the trainer sees it. */
type Stage = 'waiting' | 'working' | 'grading' | 'scored' | 'discarded';

type Row = { stage: Stage; readonly task: string; calls: number };

const marks: Readonly<Record<Stage, string>> = {
  waiting: '·',
  working: '▪',
  grading: '◆',
  scored: '█',
  discarded: '✕',
};

/** What is known of every rollout while the burst runs; fed by events, read as lines. */
export class Board {
  readonly #rows: Map<string, Row>;

  constructor(rollouts: readonly { readonly rollout: string; readonly task: string }[]) {
    this.#rows = new Map(
      rollouts.map(({ rollout, task }) => [rollout, { stage: 'waiting', task, calls: 0 }]),
    );
  }

  hear(event: RolloutEvent): void {
    const row = this.#rows.get(event.rollout);
    if (row === undefined || event.kind === 'call sent') return;
    if (event.kind === 'call answered') {
      row.calls += 1;
      row.stage = 'working';
    } else row.stage = event.kind;
  }

  /** One line: how many rollouts stand where. */
  summary(elapsedMs: number, killed: number): string {
    const rows = [...this.#rows.values()];
    const count = (stage: Stage) => rows.filter((row) => row.stage === stage).length;
    const calls = rows.reduce((sum, row) => sum + row.calls, 0);
    const stages = (Object.keys(marks) as Stage[]).map((stage) => `${marks[stage]} ${count(stage)} ${stage}`);
    return `${seconds(elapsedMs)}  ${stages.join('   ')}   calls ${calls}   killed ${killed}`;
  }

  /** The whole block: a line for each task with a mark for each copy, then the summary. */
  block(elapsedMs: number, killed: number): readonly string[] {
    const byTask = Map.groupBy(this.#rows.values(), (row) => row.task);
    const width = Math.max(...[...byTask.keys()].map((task) => task.length));
    const lines = [...byTask].map(
      ([task, rows]) => `  ${task.padEnd(width)}  ${rows.map((row) => marks[row.stage]).join(' ')}`,
    );
    return [...lines, '', `  ${this.summary(elapsedMs, killed)}`];
  }
}

function seconds(elapsedMs: number): string {
  return `${(elapsedMs / 1000).toFixed(1).padStart(5)} s`;
}

/** The block is redrawn this often on a terminal; elsewhere a plain line appears every few seconds. */
const redrawMs = 150;
const plainLineMs = 3000;

type LiveView = { readonly block: () => readonly string[]; readonly line: () => string };

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
