import { COMMAND_HELP, COMMANDS, type Command, type CommandHelp } from './commands.js'
import { OPTIONS, type Option, type OptionName } from './options.js'

/** The column in which the text next to a command, and next to an option, begins. */
const COMMAND_COLUMN = 40
const OPTION_COLUMN = 30

/** What `polyvac help` prints; with a command, what `polyvac help <command>` does. */
export function helpOf (command?: Command): string {
  return command === undefined ? wholeHelp() : helpOfCommand(command)
}

function wholeHelp (): string {
  return `polyvac: agents over direct HTTP, the OpenAI-compatible API, A2A and MCP

${COMMANDS.map(name => commandLines(COMMAND_HELP[name])).join('')}${beside('  polyvac help [command]', ['print this text, or the options of a command and an example'], COMMAND_COLUMN)}
${optionLines(Object.keys(OPTIONS) as OptionName[])}`
}

function helpOfCommand (name: Command): string {
  const { usage, about, options, example }: CommandHelp = COMMAND_HELP[name]
  return `${usage.map(line => `polyvac ${line}\n`).join('')}
${about.map(line => `  ${line}\n`).join('')}
${optionLines([...options, 'help'])}
  For example: ${example}
`
}

function commandLines ({ usage, about }: CommandHelp): string {
  return usage.slice(0, -1).map(line => `  polyvac ${line}\n`).join('') + beside(`  polyvac ${usage.at(-1)}`, about, COMMAND_COLUMN)
}

function optionLines (names: readonly OptionName[]): string {
  return names.map(name => {
    const { short, value, about }: Option = OPTIONS[name]
    return beside(`  ${short === undefined ? '   ' : `-${short},`} --${name}${value === undefined ? '' : ` ${value}`}`, [about], OPTION_COLUMN)
  }).join('')
}

/** A text with others next to it, below it where it is too long. */
function beside (text: string, lines: readonly string[], column: number): string {
  const [first, ...rest] = lines.map(line => `${' '.repeat(column)}${line}\n`)
  return text.length < column ? text + first!.slice(text.length) + rest.join('') : `${text}\n${first}${rest.join('')}`
}
