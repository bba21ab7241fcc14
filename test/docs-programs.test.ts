import { test } from 'tap'
import { isProgram, pages, Workspace } from './fixtures/doc-programs.js'
import { typeErrors } from './fixtures/types.js'

test('the programs of the pages compile', t => {
  const workspace = new Workspace('programs')
  for (const page of pages) workspace.write(page)
  const files = pages.flatMap(page => page.blocks.filter(isProgram).map(block => workspace.fileOf(page, block)))
  t.strictSame(typeErrors(files).map(line => line.replace(`${workspace.folder}/`, '')), [], `${files.length} programs`)
  t.end()
})
