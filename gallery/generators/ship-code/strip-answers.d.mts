export function stripAnswers(source: string): string;
