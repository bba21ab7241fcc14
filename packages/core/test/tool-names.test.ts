import { test } from 'tap'
import { toolLabel } from '../src/plugin.js'
import { MAX_TOOL_NAMES } from '../src/telemetry/spans.js'

test('spans have as many names of tools as the bound, whatever callers invent', async t => {
  t.equal(toolLabel('x'.repeat(129)), '_OTHER')
  t.equal(toolLabel('a name of content'), '_OTHER')
  // `_OTHER` is one of them
  const named = Array.from({ length: MAX_TOOL_NAMES + 500 }, (_, i) => toolLabel(`tool-${i}`)).filter(name => name !== '_OTHER')
  t.equal(named.length, MAX_TOOL_NAMES - 1)
  t.equal(toolLabel('tool-0'), 'tool-0', 'a name that is known stays')
})
