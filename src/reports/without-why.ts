const mark = '"why":';

/**
 * An event's line without why its rollout has the score that it has: that is most of what a line has, and it has the truth of a
 * dataset row. A line that is no JSON has come from somebody else's file, and is no event to anybody.
 */
export function withoutWhy(line: string): string {
  if (!line.includes(mark)) return line;
  const end = line.endsWith('\n') ? '\n' : '';
  try {
    const { why: _why, ...rest } = JSON.parse(line) as { readonly kind?: unknown; readonly why?: unknown };
    return rest.kind === 'verdict' ? JSON.stringify(rest) + end : line;
  } catch {
    return end;
  }
}
