import { testCommands } from './fixtures/doc-commands.js'

testCommands(3)
