import type { Evidence } from '#src/failure/failure.ts';

/** With the rest of a rollout's hash this stays under 2 KB. */
const evidenceMaxChars = 1_000;
const valueMaxChars = 240;

/** Evidence as it is stored: long texts are cut, and what does not fit any more is left out and counted. */
export function evidenceText(evidence: Evidence): string {
  const kept: Record<string, Evidence[string]> = {};
  let left = 0;
  for (const [name, value] of Object.entries(evidence)) {
    const cut = typeof value === 'string' ? value.slice(0, valueMaxChars) : value;
    const size = JSON.stringify({ ...kept, [name]: cut }).length;
    if (size > evidenceMaxChars) left += 1;
    else kept[name] = cut;
  }
  return JSON.stringify(left === 0 ? kept : { ...kept, left_out: left });
}

export function evidenceOf(text: string | null): Evidence {
  return text === null ? {} : (JSON.parse(text) as Evidence);
}
