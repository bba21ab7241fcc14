import type { Era } from '../tool-source.js'

/** The revisions served up to the change of 2026-07-28, newest first. */
export const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
/** The revisions without sessions, newest first. */
export const MODERN_REVISIONS = ['2026-07-28'] as const

export type LegacyRevision = typeof LEGACY_REVISIONS[number]
export type ModernRevision = typeof MODERN_REVISIONS[number]
export type Revision = LegacyRevision | ModernRevision

export const NEWEST_LEGACY = LEGACY_REVISIONS[0]
export const NEWEST_MODERN = MODERN_REVISIONS[0]

/** A client that names no version after its handshake speaks this one (specification of 2025-06-18, transports). */
export const ASSUMED_REVISION = '2025-03-26'

export function isLegacy (version: unknown): version is LegacyRevision {
  return LEGACY_REVISIONS.includes(version as never)
}

export function isModern (version: unknown): version is ModernRevision {
  return MODERN_REVISIONS.includes(version as never)
}

/** Dates compare as text. */
export function eraOf (version: string): Era {
  return version >= MODERN_REVISIONS[MODERN_REVISIONS.length - 1]! ? 'modern' : 'legacy'
}
