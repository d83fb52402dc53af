/** Something that a conversation names, as somebody reads it who knows how people speak. */
export type Mention = {
  readonly phrase: string;
  /** Whether the patient has it now. */
  readonly isPresent: boolean;
  readonly visit: 'initial' | 'subsequent' | null;
};

type Way = { readonly says: RegExp; readonly isPresent: boolean; readonly visit?: Mention['visit'] };

const ways: readonly Way[] = [
  { says: /The picture shows (?<it>[^,]+), and nobody has treated/, isPresent: true, visit: 'initial' },
  { says: /You are back because of (?<it>[^,]+), and it heals/, isPresent: true, visit: 'subsequent' },
  { says: /What we are dealing with is (?<it>[^,]+), and I/, isPresent: true },
  { says: /The findings fit (?<it>[^,]+), as/, isPresent: true },
  { says: /I note (?<it>[^,]+) among your problems/, isPresent: true },
  { says: /So it is (?<it>[^,]+), is it/, isPresent: true },
  { says: /I looked for (?<it>[^,]+), and the test was negative/, isPresent: false },
  { says: /My mother had (?<it>[^,]+), all/, isPresent: false },
  { says: /Years ago I had (?<it>[^,]+), but/, isPresent: false },
  { says: /we would have to think of (?<it>[^,]+), but/, isPresent: false },
  { says: /I was afraid of (?<it>[^.]+)\./, isPresent: false },
];

export const mentionsIn = (transcript: string): readonly Mention[] =>
  transcript.split('\n').flatMap((line) =>
    ways.flatMap(({ says, isPresent, visit = null }) => {
      const phrase = says.exec(line)?.groups?.['it'];
      return phrase === undefined ? [] : [{ phrase, isPresent, visit }];
    }),
  );
