import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.mjs'

/** Folders with `node` by major version: the versions that packages of npm bring for Linux x64. */
export const NODES = Object.fromEntries(['22', '24']
  .map(version => [version, join(root, 'scripts', 'rehearse', 'node_modules', `node${version}`, 'bin')])
  .filter(([, bin]) => existsSync(join(bin, 'node'))))

/** The `node` of Node.js 22 or newer, which the registry needs. */
export function newerNode () {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath
  if (NODES['22'] === undefined) throw new Error('the registry needs Node.js 22 or newer; run this script with it on this platform')
  return join(NODES['22'], 'node')
}

/** The environment of a shell in which this version of Node.js comes first. */
export function onNode (version) {
  return { PATH: `${NODES[version]}:${process.env.PATH}` }
}
