import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Point, pointOf } from './bench/points.ts';
import { type Section, sectionsIn } from './sections.ts';

/** A package's documentation; no package is in both splits. */
const documents = {
  train: {
    fastify: 'docs',
    undici: 'docs/docs',
    avvio: 'README.md',
    commander: 'Readme.md',
    'find-my-way': 'README.md',
  },
  eval: { pino: 'docs', 'fast-json-stringify': 'README.md', ioredis: 'README.md' },
} as const;

/** Of a section, how many further on the other two slides of a deck are. */
const steps = [
  [1, 2],
  [1, 3],
  [2, 3],
  [2, 4],
] as const;

/** Few enough for a slide, and enough to choose from. */
const points = { least: 2, most: 5 } as const;

/** `folder` holds the packages, each in a folder of its name. */
export function slideRows(folder: string): {
  readonly train: readonly object[];
  readonly eval: readonly object[];
} {
  return { train: rowsOf(folder, 'train'), eval: rowsOf(folder, 'eval') };
}

const rowsOf = (folder: string, split: keyof typeof documents): readonly object[] =>
  Object.entries(documents[split]).flatMap(([name, part]) =>
    pagesBelow(join(folder, name), part).flatMap((path) => {
      const usable = sectionsIn(readFileSync(join(folder, name, path), 'utf8')).flatMap(asTask);
      return decksOf(usable).map((deck, index) => ({
        id: `${name}-${path.replaceAll(/\W+/g, '-')}-${index + 1}`,
        package: name,
        document: path,
        brief: deck.map(({ heading, sentences }) => `## ${heading}\n\n${sentences.join('\n')}`).join('\n\n'),
        slides: deck.map(({ heading, points }) => ({ heading, points })),
      }));
    }),
  );

function pagesBelow(root: string, path: string): readonly string[] {
  if (statSync(join(root, path)).isFile()) return path.endsWith('.md') ? [path] : [];
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => pagesBelow(root, `${path}/${name}`));
}

type Task = Section & { readonly points: readonly Point[] };

/** What is asked of a section is every sentence that has a term in code. */
function asTask(section: Section): readonly Task[] {
  const found = section.sentences.flatMap((sentence) => pointOf(sentence) ?? []);
  const isUsable = found.length >= points.least && found.length <= points.most;
  return isUsable && section.heading.length < 60 ? [{ ...section, points: found }] : [];
}

/** Every choice of three among neighbours, in the order of the document. */
const decksOf = (sections: readonly Task[]): readonly (readonly Task[])[] =>
  sections.flatMap((first, index) =>
    steps.flatMap(([second, third]) => {
      const deck = [first, sections[index + second], sections[index + third]];
      return deck.every((section) => section !== undefined) ? [deck] : [];
    }),
  );
