/** A `ref` that gives a field the focus as it appears; a new function would be called with each rendering. */
export const focusOn = (element: HTMLElement | null): void => { element?.focus() }

/** Sends the form of a field of several lines with Enter; with Shift it adds a line. */
export const sendOnEnter = (event: KeyboardEvent & { readonly currentTarget: HTMLTextAreaElement }): void => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  event.currentTarget.form?.requestSubmit()
}
