import { useEffect, useState } from 'preact/hooks';

const pauseMs = 120;

/** What is typed counts after a short pause. `Esc` leaves the field and keeps the text. */
export function SearchField({
  text,
  what,
  choose,
}: {
  readonly text: string;
  readonly what: { readonly label: string; readonly hint: string };
  readonly choose: (text: string) => void;
}) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => choose(typed), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      type="search"
      name="search"
      placeholder={`${what.hint} ( / )`}
      aria-label={what.label}
      value={typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.currentTarget.blur();
      }}
    />
  );
}
