import { homedir } from 'node:os'
import { basename, dirname, sep } from 'node:path'

/** What a client asks a person, by its id. */
export type ClientInputs = ReadonlyMap<string, { readonly default?: string | undefined, readonly isSecret: boolean }>

const REFERENCE = /\$\$|\$\{(?:(env|input):([^}]*)|(workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|\/))\}/g

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Folders of a project in which clients keep their file. */
const CLIENT_FOLDERS = ['.vscode', '.cursor']

/**
 * Writes the references of VS Code, Cursor and others as `${NAME}`: `${env:NAME}`, and `${input:some-id}` as the
 * variable `INPUT_SOME_ID`, since a service asks no person. In the file of a client, folders are filled in.
 * @param inputs undefined for any other file
 * @returns the text, and the ids of inputs by their variables
 */
export function readClientVariables (text: string, file: string, inputs: ClientInputs | undefined): { readonly text: string, readonly asked: ReadonlyMap<string, string> } {
  const asked = new Map<string, string>()
  const filled = text.replace(REFERENCE, (whole, kind: string | undefined, name = '', place: string | undefined) => {
    if (place !== undefined) return inputs === undefined ? whole : placeOf(place, file).replaceAll('$', '$$$$')
    if (kind === 'env') return VARIABLE.test(name) ? `\${${name}}` : whole
    if (kind === undefined) return whole
    const variable = inputVariable(name)
    asked.set(variable, name)
    const preset = inputs?.get(name)?.default
    return preset === undefined || preset.includes('}') ? `\${${variable}}` : `\${${variable}:-${preset}}`
  })
  return { text: filled, asked }
}

/** The environment variable of an input, as GitHub Actions name theirs. */
export function inputVariable (id: string): string {
  return `INPUT_${id.toUpperCase().replace(/[^A-Z0-9_]/g, '_')}`
}

function placeOf (place: string, file: string): string {
  if (place === 'userHome') return homedir()
  const folder = CLIENT_FOLDERS.includes(basename(dirname(file))) ? dirname(dirname(file)) : dirname(file)
  if (place === 'workspaceFolder') return folder
  return place === 'workspaceFolderBasename' ? basename(folder) : sep
}
