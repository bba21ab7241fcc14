/** The revisions with `initialize` and sessions, newest first. */
export const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
/** The revisions in which each request stands by itself, newest first. */
export const MODERN_REVISIONS = ['2026-07-28'] as const

export type LegacyRevision = typeof LEGACY_REVISIONS[number]
export type ModernRevision = typeof MODERN_REVISIONS[number]
export type Revision = LegacyRevision | ModernRevision

/** `legacy` stands for revisions up to 2025-11-25, `modern` for 2026-07-28 and later. */
export type Era = 'legacy' | 'modern'

export const NEWEST_LEGACY = LEGACY_REVISIONS[0]

/** The revision of a request without a version header after the handshake (specification of 2025-06-18, transports). */
export const ASSUMED_REVISION = '2025-03-26'

const FIRST_MODERN = MODERN_REVISIONS[MODERN_REVISIONS.length - 1]!

export function isLegacy (version: unknown): version is LegacyRevision {
  return LEGACY_REVISIONS.includes(version as never)
}

export function isModern (version: unknown): version is ModernRevision {
  return MODERN_REVISIONS.includes(version as never)
}

/** The era of a version, served or not. Revisions are dates, which compare as text. */
export function eraOf (version: string): Era {
  return version >= FIRST_MODERN ? 'modern' : 'legacy'
}

/** Whether a version header names a revision of the modern era, served or not. */
export function namesModern (header: unknown): boolean {
  return typeof header === 'string' && eraOf(header) === 'modern' && /^\d{4}-\d{2}-\d{2}$/.test(header)
}
