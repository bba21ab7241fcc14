/** The codes of a module that is not installed, of `import()` and of `require()`, which bundlers make of it. */
const MISSING: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])

/**
 * Whether loading a module failed since a package, or a file, is missing.
 * @param name the package; without it any
 */
export function isMissingModule (err: unknown, name?: string): boolean {
  const { code, message } = (err ?? {}) as { code?: unknown, message?: unknown }
  return MISSING.has(code) && (name === undefined || String(message).includes(`'${name}'`))
}

/** Whether a thread did not start since its file is missing, as in a bundle. A CommonJS bundle has no URL of it. */
export function isMissingThread (err: unknown): boolean {
  return isMissingModule(err) || (err as { code?: unknown } | undefined)?.code === 'ERR_INVALID_URL'
}

/**
 * The URL of the folder of the packages: `packages` of a clone, or `node_modules/@polyvac`. Undefined in a bundle,
 * whose one file also has the code of the app. Never read at import: a CommonJS bundle has no `import.meta.url`.
 */
export function packagesFolder (): string | undefined {
  const url = import.meta.url as string | undefined
  return url !== undefined && /\/core\/(?:dist|src)\/basics\/own-files\.[jt]s$/.test(url) ? new URL('../../..', url).href : undefined
}

/** Whether a file, as a URL, is of any of Polyvac's packages, and not of their tests. */
export function isOfPackage (url: string): boolean {
  const folder = packagesFolder()
  return folder !== undefined && url.startsWith(folder) && /^[^/]+\/(?:src|dist)\//.test(url.slice(folder.length))
}

/** Whether a file, as a URL, is of this package, or the bundle that has it. */
export function isOwnFile (url: string): boolean {
  const folder = packagesFolder()
  return folder === undefined ? url === import.meta.url : url.startsWith(`${folder}core/`)
}
