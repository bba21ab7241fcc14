const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Text for the content of elements, and for attributes in quotes. */
export function escapeHtml (text: string): string {
  return text.replace(/[&<>"']/g, character => ENTITIES[character]!)
}
