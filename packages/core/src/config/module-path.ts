/** Whether a name is the path of a module, such as `./x.mjs`, `/x.js`, `@scope/x` or `x.js`, not a built-in name. */
export function isModulePath (name: string): boolean {
  return /[/\\]|\.[cm]?[jt]s$/.test(name)
}
