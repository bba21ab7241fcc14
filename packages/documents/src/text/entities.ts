/** The entities that occur in Markdown; the parser of HTML decodes all of them. */
export const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ', '#39': "'", apos: "'" }
export const ENTITY = /&(lt|gt|amp|quot|nbsp|#39|apos);/g
