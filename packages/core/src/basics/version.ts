/**
 * The version of Polyvac's packages, which have one version. A constant, since a bundle has no `package.json` next to
 * it, or that of the app. `scripts/version.mjs` writes it.
 */
export const VERSION = '0.1.0'
