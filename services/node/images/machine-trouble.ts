/** How programs name a trouble of this machine's, which is over sooner or later. In small letters. */
const troubles = [
  'no space left on device',
  'disk quota exceeded',
  'cannot allocate memory',
  'memory exhausted',
  'too many open files',
  'input/output error',
];

/** Whether a program's message ends with one. */
export const endsInMachineTrouble = (message: string) =>
  troubles.some((trouble) => message.toLowerCase().endsWith(trouble));

/** Whether one is in what a program wrote. A stranger's file may have such a name, and gains another try. */
export const namesMachineTrouble = (words: string) =>
  troubles.some((trouble) => words.toLowerCase().includes(trouble));

/** An error of the operating system has a code. */
export const isOfMachine = (thrown: unknown) => thrown instanceof Error && 'code' in thrown;
