/** Whether a text is as one of the patterns says, in which `*` stands for anything. */
export function matchesOne(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => {
    const literal = pattern.split('*').map((part) => part.replaceAll(/[$()+.?[\\\]^{|}]/g, String.raw`\$&`));
    return new RegExp(`^${literal.join('.*')}$`, 's').test(text);
  });
}
