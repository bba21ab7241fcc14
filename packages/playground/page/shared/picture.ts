/** Time between two pictures of an answer, however many frames arrive. */
const PICTURE_MS = 50

/** Runs `show` once for all calls of `later` within 50 ms; `now` runs it at once. */
export function createPicture (show: () => void): { readonly later: () => void, readonly now: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  const now = (): void => {
    clearTimeout(timer)
    timer = undefined
    show()
  }
  return { now, later: () => { timer ??= setTimeout(now, PICTURE_MS) } }
}
