/** Whether `If-None-Match` names an entity tag: a list of tags, compared weakly, or `*` (RFC 9110, section 13.1.2). */
export function matchesEtag (ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.split(',').some(tag => [etag, `W/${etag}`, '*'].includes(tag.trim())) ?? false
}
