/** The few entities that people write in Markdown; HTML files are decoded in full by their parser. */
export const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ', '#39': "'", apos: "'" }
export const ENTITY = /&(lt|gt|amp|quot|nbsp|#39|apos);/g
