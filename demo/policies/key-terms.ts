/** Words shorter than this match everywhere. */
const shortestTerm = 5;

const codeSpan = /`([^`]+)`/g;
const quotedSpan = /"([^"]{8,})"/g;
const identifier = /[A-Za-z_][A-Za-z0-9_]*/g;

/** What to look for: the identifiers that a request sets in code type, and whole sentences that it quotes. */
export function keyTerms(request: string): readonly string[] {
  const quoted = matches(request, quotedSpan);
  const identifiers = matches(request, codeSpan).flatMap((span) => span.match(identifier) ?? []);
  return [...new Set([...identifiers.filter((term) => term.length >= shortestTerm), ...quoted])];
}

function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].flatMap((match) => match[1] ?? []);
}

/** Which kinds of file a request speaks of, beside code. */
export function wantedKinds(request: string): { readonly types: boolean; readonly prose: boolean } {
  return {
    types: /\b(types?|typings?|declar\w+|interface)\b/i.test(request),
    prose: /\b(documentation|readme|page)\b/i.test(request),
  };
}
