/** A `ref` that gives a field the focus as it appears; a new function would be called with each rendering. */
export const focusOn = (element: HTMLElement | null): void => { element?.focus() }
