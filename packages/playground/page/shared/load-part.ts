/** Loads a part of the page. @throws Error with what a person does: the browser does not report the status */
export async function loadPart<Part> (load: () => Promise<Part>): Promise<Part> {
  try {
    return await load()
  } catch (err) {
    throw new Error('The page could not load a part of itself: load the page again, or sign in again.', { cause: err })
  }
}
