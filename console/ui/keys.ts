import { useEffect, useLayoutEffect } from 'preact/hooks';

/** Every key that does something, for the list that `?` shows. */
export const keyTable: readonly (readonly [string, string])[] = [
  ['/', 'search: of a run its rollouts, of a rollout its calls'],
  ['j, k, Enter', 'next, previous, open'],
  ['x, c', 'choose a rollout of the table, compare the two chosen last'],
  ['[, ]', 'the copy before and after in the group'],
  ['e', 'outputs of a rollout: none, some, all'],
  ['g r, g f', 'runs, fleet'],
  ['?', 'this list'],
  ['Esc', 'close the list, leave a field'],
];

const fields: ReadonlySet<string> = new Set(['INPUT', 'SELECT', 'TEXTAREA']);

type OnKey = (event: KeyboardEvent) => void;

/** Hears keys that are pressed without a modifier and outside of fields. */
export const useKeys = (onKey: OnKey): void => listenTo(onKey, useEffect);

/** As {@link useKeys}, before the next key: an effect after the next paint would lose fast presses. */
export const useFastKeys = (onKey: OnKey): void => listenTo(onKey, useLayoutEffect);

function listenTo(onKey: OnKey, useAfter: typeof useEffect): void {
  useAfter(() => {
    const listener = (event: KeyboardEvent): void => {
      const { ctrlKey, altKey, metaKey, target } = event;
      if (ctrlKey || altKey || metaKey || document.querySelector('dialog[open]') !== null) return;
      if (!(target instanceof HTMLElement && fields.has(target.tagName))) onKey(event);
    };
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  });
}

/** `/` goes to the field of this name. */
export function goToSearch(event: KeyboardEvent): void {
  if (event.key !== '/') return;
  event.preventDefault();
  document.querySelector<HTMLInputElement>('input[name=search]')?.focus();
}
