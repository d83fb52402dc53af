/** A place in a YAML file: the keys and indexes that lead to it. */
export type Path = readonly (string | number)[];

/** One mistake of an author, in a sentence that says what to write instead. */
export type Mistake = {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** `tools.shell.timeout`; empty for the file itself. */
  readonly path: string;
  readonly message: string;
};

/** Reports a mistake at a place of the file in hand. */
export type Report = (path: Path, message: string) => void;

/** Everything that is wrong with a folder of environments, at once: nobody fixes forty files one error at a time. */
export class EnvironmentMistakes extends Error {
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    const count = mistakes.length === 1 ? 'one mistake' : `${mistakes.length} mistakes`;
    const inOrder = mistakes.toSorted(byPlace);
    super(`${count} in environments:\n${inOrder.map(lineOf).join('\n')}`);
    this.name = 'EnvironmentMistakes';
    this.mistakes = inOrder;
  }
}

function lineOf({ file, line, path, message }: Mistake): string {
  return `  ${file}:${line}: ${path === '' ? '' : `${path} `}${message}`;
}

const byPlace = (a: Mistake, b: Mistake): number => a.file.localeCompare(b.file, 'en') || a.line - b.line;
