/** Words next to the number of a page, in some languages. */
const PAGE_WORDS = /(?<!\p{L})(?:page|pages|seite|sida|side|sivu|strona|strana|página|pagina|pag|of|von|de|di|van|af|av|z|sur|s)(?!\p{L})\.?/giu

/** Whether a line of a page header or footer has more than the number of the page. */
export function isPageText (line: string): boolean {
  return /\p{L}{2}|\p{N}{5}/u.test(line.replace(PAGE_WORDS, ''))
}
