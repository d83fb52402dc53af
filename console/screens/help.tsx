import { useRef } from 'preact/hooks';
import { keyTable, useKeys } from '../ui/keys.ts';

/** The list of keys: `?` or the button shows it, `Esc` closes it, as browsers do with every dialog. */
export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const show = () => dialog.current?.showModal();
  useKeys(({ key }) => {
    if (key === '?') show();
  });
  return (
    <>
      <button type="button" onClick={show}>
        Keys
      </button>
      <dialog ref={dialog} aria-label="Keys">
        <h2>Keys</h2>
        <dl class="keys">
          {keyTable.map(([keys, meaning]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}
