import { type Chance, chanceOf } from '../chance.ts';
import { type Condition, conditionsOf } from './everyday.ts';
import type { Entry } from './tabular.ts';

/** One visit: what was said, and what two coders made of it. */
export type Visit = {
  readonly id: string;
  readonly patient: string;
  readonly transcript: string;
  /** The first coder's: what is graded with. */
  readonly codes: readonly string[];
  /** Another coder's of the same visit: as well as people agree, nobody can be expected to score. */
  readonly second_coder: readonly string[];
};

/** Another seed is another dataset. */
export const seed = 'icd10 1';
const patients = 420;

/** Where the second coder goes another way; together they agree by some 0.72 of f1, as coders do. */
const disagreement = { sibling: 0.2, leftOut: 0.07, extra: 0.14 };

export function makeVisits(entries: readonly Entry[], seed: string): readonly Visit[] {
  const book = {
    lasting: conditionsOf(entries, 'lasting'),
    passing: conditionsOf(entries, 'passing'),
    injuries: conditionsOf(entries, 'injuries'),
  };
  return Array.from({ length: patients }, (_, index) => {
    const patient = `P${String(index + 1).padStart(4, '0')}`;
    const chance = chanceOf(`${seed} ${patient}`);
    const lasting = chance.some(book.lasting, chance.integer(0, 2));
    const visits = chance.integer(1, 4);
    return Array.from({ length: visits }, (_visit, number) =>
      visitOf(`${patient}-${number + 1}`, patient, lasting, book, chance),
    );
  }).flat();
}

type Book = Readonly<Record<'lasting' | 'passing' | 'injuries', readonly Condition[]>>;

function visitOf(
  id: string,
  patient: string,
  lasting: readonly Condition[],
  book: Book,
  chance: Chance,
): Visit {
  const injured = chance.some(book.injuries, chance.happens(0.35) ? 1 : 0);
  const passing = chance.some(book.passing, chance.integer(lasting.length + injured.length > 1 ? 0 : 1, 2));
  const asserted = distinct([...lasting, ...injured, ...passing]);
  const more = asserted.length < 2 ? chance.some(book.passing, 2) : [];
  const present = distinct([...asserted, ...more]).slice(0, 5);
  const absent = chance
    .some([...book.lasting, ...book.passing], chance.integer(2, 4))
    .filter(({ code }) => present.every((each) => each.code.slice(0, 3) !== code.slice(0, 3)));
  const lines = [
    ...present.map((condition) => assertedLine(condition, chance)),
    ...absent.map((condition) => absentLine(condition, chance)),
    ...chance.some(smallTalk, 3),
  ];
  return {
    id,
    patient,
    transcript: [...opening, ...chance.some(lines, lines.length), ...closing].join('\n'),
    codes: present.map(({ code }) => code),
    second_coder: secondCoder(present, absent, chance),
  };
}

const distinct = (conditions: readonly Condition[]): readonly Condition[] => [
  ...new Map(conditions.map((condition) => [condition.code.slice(0, 3), condition])).values(),
];

function assertedLine({ phrases, visit }: Condition, chance: Chance): string {
  const phrase = inPlainWords(chance.pick(phrases), chance);
  if (visit === 'initial')
    return `Doctor: The picture shows ${phrase}, and nobody has treated you for it before today.`;
  if (visit === 'subsequent') return `Doctor: You are back because of ${phrase}, and it heals as it should.`;
  return chance
    .pick([
      'Doctor: What we are dealing with is {it}, and I would like to treat that.',
      'Doctor: The findings fit {it}, as we expected.',
      'Doctor: I note {it} among your problems, and renew what you take for it.',
      'Patient: So it is {it}, is it?\nDoctor: Yes, no doubt about that.',
    ])
    .replace('{it}', phrase);
}

/** What people say for what books write. */
const plainWords: Readonly<Record<string, string>> = {
  fracture: 'break',
  nondisplaced: 'well aligned',
  displaced: 'shifted',
  abrasion: 'scrape',
  laceration: 'cut',
  contusion: 'bruise',
  sprain: 'twisted ligament',
  acute: 'sudden',
  chronic: 'long-standing',
  recurrent: 'recurring',
  bilateral: 'on both sides',
  hemorrhage: 'bleeding',
  hypertension: 'high blood pressure',
  cystitis: 'bladder infection',
  conjunctivitis: 'pink eye',
  otitis: 'ear infection',
  gastritis: 'inflamed stomach',
  osteoarthritis: 'worn joint',
  hypothyroidism: 'underactive thyroid',
  furuncle: 'boil',
  phalanx: 'finger bone',
  tibia: 'shin bone',
  patella: 'kneecap',
};
const plainShare = 0.3;

const inPlainWords = (phrase: string, chance: Chance): string =>
  phrase
    .split(' ')
    .map((word) => (word in plainWords && chance.happens(plainShare) ? (plainWords[word] ?? word) : word))
    .join(' ');

/** What is named and must not be coded: ruled out, somebody else's, over, or only feared. */
const absentLine = ({ phrases }: Condition, chance: Chance): string =>
  chance
    .pick([
      'Doctor: I looked for {it}, and the test was negative.',
      'Patient: My mother had {it}, all her life.',
      'Patient: Years ago I had {it}, but that was over within the year.',
      'Doctor: Should it get worse, we would have to think of {it}, but not today.',
      'Patient: I was afraid of {it}.\nDoctor: No, you do not have that.',
    ])
    .replace('{it}', inPlainWords(chance.pick(phrases), chance));

const opening = ['Doctor: Good morning, take a seat.', 'Patient: Thank you for seeing me so soon.'];
const closing = ['Doctor: Come back in four weeks, or earlier if you have to.', 'Patient: I will. Goodbye.'];
const smallTalk = [
  'Patient: The bus was late again.',
  'Doctor: Do you still swim twice a week?\nPatient: Once, since the pool closes early.',
  'Doctor: Have you been sleeping?\nPatient: As one does.',
  'Patient: My daughter says hello.',
  'Doctor: Your weight is what it was in spring.',
  'Patient: I brought the list of what I take.\nDoctor: Thank you, I have it here too.',
  'Doctor: Please breathe in. And out. Thank you.',
];

function secondCoder(
  present: readonly Condition[],
  absent: readonly Condition[],
  chance: Chance,
): readonly string[] {
  const own = present.flatMap(({ code, siblings: [first, ...more] }) => {
    const turn = chance.next();
    if (turn < disagreement.leftOut) return [];
    const another = turn < disagreement.leftOut + disagreement.sibling && first !== undefined;
    return [another ? chance.pick([first, ...more]) : code];
  });
  const extra = absent.filter(() => chance.happens(disagreement.extra)).map(({ code }) => code);
  return [...own, ...extra];
}
