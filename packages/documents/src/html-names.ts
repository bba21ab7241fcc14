/** The element names of HTML: anything else in angle brackets is text, such as the type in `Promise<string>`. */
export const HTML_TAGS: ReadonlySet<string> = new Set(`a abbr address area article aside audio b base bdi bdo blockquote
body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed
fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label
legend li link main map mark menu meta meter nav noscript object ol optgroup option output p param picture pre progress q
rp rt ruby s samp script section select slot small source span strong style sub summary sup svg table tbody td template
textarea tfoot th thead time title tr track tt u ul var video wbr path g`.split(/\s+/))

/** Elements without text for readers. */
export const SILENT_TAGS: ReadonlySet<string> = new Set(`script style template noscript svg nav iframe select button
textarea datalist`.split(/\s+/))

/** Elements that begin a new line. */
export const BLOCK_TAGS: ReadonlySet<string> = new Set(`address article aside blockquote body br caption center dd details
dialog div dl dt fieldset figcaption figure footer form header hr html li main ol p pre section summary table tbody tfoot
thead tr ul`.split(/\s+/))

/** The entities that occur in Markdown; the parser of HTML decodes all of them. */
export const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ', '#39': "'", apos: "'" }
export const ENTITY = /&(lt|gt|amp|quot|nbsp|#39|apos);/g
