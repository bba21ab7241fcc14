// Pictures of every view of the page, in both colour schemes and three widths, for people who change it:
// node scripts/pictures.mjs <folder> [words of names…]
import { createHost } from '@polyvac/host'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const [folder, ...words] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder of the pictures: node scripts/pictures.mjs <folder> [words of names…]')
mkdirSync(folder, { recursive: true })

const WIDTHS = { 360: { width: 360, height: 740 }, 1280: { width: 1280, height: 800 }, 2560: { width: 2560, height: 1300 } }
const root = fileURLToPath(new URL('..', import.meta.url))
const PATH = 'M0 150 80 90 160 110 240 40 320 70 400 10'
const CHART = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="400" height="160"><path d="${PATH}" fill="none" stroke="#0b6b5b" stroke-width="4"/></svg>`).toString('base64')
const TEXT = 'Here is the forecast for **Oslo** [1]. Bring a jacket in the evening [2].\n\n| Day | Sky | °C |\n| --- | --- | --: |\n| Mon | sunny | 7 |\n| Tue | cloudy | 5 |\n| Wed | rain | 4 |\n\n' +
  '## In code\n\n```js\nconst { days } = await forecast(\'Oslo\')\nfor (const day of days) console.log(day.sky, day.celsius)\n```\n\n- one thing\n- another, with `code` in it\n'

/** An agent that shows what the chat can show. */
async function * weather (question, _vac, _history, { signal }) {
  if (question.includes('delete')) {
    const text = 'May the tool "delete_file" be called with this input?\n\n```json\n{\n  "path": "/srv/old.txt"\n}\n```\n\nReply yes or no. (approval abc-1)'
    yield { tool_call: { id: 'a', name: 'find_file', server: 'files', input: { name: 'old.txt' } } }
    yield { tool_result: { id: 'a', output: { content: [{ type: 'text', text: '/srv/old.txt' }] }, duration_ms: 120 } }
    const expires = new Date(Date.now() + 3_600_000).toISOString()
    yield { answer: `I found it.\n\n${text}`, input_required: text, approval: { id: 'abc-1', tool: 'delete_file', server: 'files', input: { path: '/srv/old.txt' }, expires_at: expires } }
    return
  }
  if (question.includes('colour')) {
    yield { answer: 'Which colour?', input_required: 'Which colour?', choices: ['Green', 'Blue', 'Black'] }
    return
  }
  if (question.includes('fail')) throw new Error('the forecast is not there')
  yield { reasoning: 'A table and a bit of code show it. The forecast has the figures.' }
  yield { tool_call: { id: '1', name: 'forecast', server: 'weather', input: { city: 'Oslo', days: 3 } } }
  if (question.includes('wait')) await delay(60_000, undefined, { signal })
  yield { tool_result: { id: '1', output: { content: [{ type: 'text', text: 'Sunny, 7 °C' }] }, duration_ms: 412 } }
  yield { tool_call: { id: '2', name: 'warnings', server: 'weather', input: { city: 'Oslo' } } }
  yield { tool_result: { id: '2', error: { code: 'WEATHER_DOWN', message: 'the service is down' }, duration_ms: 80 } }
  yield TEXT
  yield {
    answer: TEXT,
    metadata: { usage: { prompt_tokens: 812, completion_tokens: 164 } },
    source_documents: [
      { page_content: '# Oslo\n\nSunny on **Monday**, 7 °C.', metadata: { source: 'weather/oslo.md', heading: 'Oslo', lines: '1-3' } },
      { page_content: 'Evenings are cold.', metadata: { source: 'https://example.com/evenings', heading: 'Evenings' } }
    ],
    artifacts: [{ name: 'chart', parts: [{ bytes: CHART, filename: 'chart.svg', media_type: 'image/svg+xml' }] }]
  }
}
weather.takes = ['images', 'files']

const server = { logger: false }
const guides = { display_name: 'Polyvac guides', description: 'Answers questions about Polyvac, with the passages they come from.', interpreter: 'documents', memory: [{ guides: { vectorstore: 'folder', path: join(root, 'docs/guides'), index_file: ':memory:' } }] }
const desk = { display_name: 'Weather desk', description: 'Forecasts and warnings for cities in Norway.', steps: 'all', examples: ['What is the weather like in Oslo?', 'Which roads are closed by snow tonight, and until when?'] }
const service = { enable_playground: true, enable_a2a_agent: true, enable_mcp_server: true, tasks: { store: 'memory' }, server }
const app = await createHost({ ...service, vacs: { weather: desk, guides }, stream_interpreter: weather, playground: { title: 'Nordlys' } })
const closed = await createHost({ ...service, vacs: { weather: desk }, stream_interpreter: weather, authenticate: () => undefined })
const url = await app.listen({ port: 0, host: '127.0.0.1' })
const closedUrl = await closed.listen({ port: 0, host: '127.0.0.1' })

// the first index
await app.polyvac.vacs.get('guides').ask({ question: 'Which versions of A2A are served?' })

const ask = async (page, question, state = 'done') => {
  await page.getByTestId('chat-question').fill(question)
  await page.getByTestId('chat-question').press('Enter')
  await page.locator(`[data-testid=chat-answer][data-state=${state}]`).last().waitFor()
}
const openMenu = async page => { if (await page.getByTestId('menu').isVisible()) await page.getByTestId('menu').click() }
const overA2a = async (page, question, state) => {
  await page.goto(`${url}/#/chat/weather?protocol=a2a`)
  await ask(page, question, state)
}

/** What the page does before each picture. */
const VIEWS = {
  empty: async () => {},
  'empty-documents': async page => { await page.goto(`${url}/#/chat/guides`) },
  documents: async page => {
    await page.goto(`${url}/#/chat/guides`)
    await ask(page, 'How do I switch the A2A agent on?')
  },
  talk: async page => {
    await ask(page, 'What is the weather like in Oslo?')
    await page.getByTestId('chat-thread').evaluate(box => { box.scrollTop = 0 })
  },
  'talk-end': async page => { await ask(page, 'What is the weather like in Oslo?') },
  running: async page => {
    await ask(page, 'Please wait for it.', 'asking')
    await page.locator('[data-testid=chat-steps][data-state=running] > summary').getByText('forecast').waitFor()
  },
  steps: async page => {
    await ask(page, 'What is the weather like in Oslo?')
    await page.getByTestId('chat-steps').locator('> summary').click()
    await page.getByTestId('chat-step').first().locator('summary').click()
    await page.getByTestId('chat-thread').evaluate(box => { box.scrollTop = 0 })
  },
  'source-open': async page => {
    await ask(page, 'What is the weather like in Oslo?')
    await page.getByTestId('chat-cite').first().click()
  },
  'source-page': async page => {
    await page.goto(`${url}/#/chat/guides`)
    await ask(page, 'How do I switch the A2A agent on?')
    await page.goto(await page.locator('a[data-testid=chat-cite]').first().getAttribute('href'))
  },
  approval: async page => { await ask(page, 'Please delete old.txt', 'input-required') },
  question: async page => { await ask(page, 'Which colour is it?', 'input-required') },
  edit: async page => {
    await ask(page, 'What is the weather like in Oslo?')
    await page.getByTestId('chat-edit').click()
  },
  error: async page => { await ask(page, 'Please fail', 'failed') },
  'sign-in': async page => { await page.goto(closedUrl) },
  menu: async page => {
    for (const question of ['What is the weather like in Oslo?', 'Which colour is it?', 'Please delete old.txt, and everything that is older than it in the same folder']) {
      await page.getByTestId('chat-clear').evaluate(button => button.click())
      await ask(page, question, question.includes('Oslo') ? 'done' : 'input-required')
    }
    await openMenu(page)
    await page.getByTestId('access').locator('summary').click()
  },
  search: async page => {
    await ask(page, 'What is the weather like in Oslo?')
    await openMenu(page)
    await page.getByTestId('stored-search').fill('weather oslo')
  },
  remove: async page => {
    await ask(page, 'What is the weather like in Oslo?')
    await openMenu(page)
    await page.getByTestId('stored-delete').click()
  },
  inspector: async page => {
    await ask(page, 'What is the weather like in Oslo?')
    await page.getByTestId('inspect').click()
    await page.getByTestId('inspector').waitFor()
  },
  rtl: async page => {
    await ask(page, 'Which colour is it?', 'input-required')
    await page.evaluate(() => { document.documentElement.dir = 'rtl' })
  },
  compare: async page => {
    await page.goto(`${url}/#/compare/guides?question=How+do+I+switch+the+A2A+agent+on%3F`)
    await page.getByTestId('compare-send').click()
    await page.locator('[data-testid=compare][data-state=done]').waitFor()
  },
  timeline: async page => {
    await overA2a(page, 'What is the weather like in Oslo?')
    await page.goto(`${url}/#/timeline`)
    await page.getByTestId('timeline').waitFor()
  },
  inbox: async page => {
    await overA2a(page, 'Which colour is it?', 'input-required')
    await page.goto(`${url}/#/inbox`)
    await page.getByTestId('waiting-task').first().waitFor()
  },
  tools: async page => {
    await page.goto(`${url}/#/tools`)
    await page.getByTestId('tool').first().click()
  },
  resources: async page => {
    await page.goto(`${url}/#/tools`)
    await page.getByTestId('to-resources').click()
  },
  cards: async page => {
    await page.goto(`${url}/#/cards`)
    await page.getByTestId('finding').first().waitFor()
  },
  raw: async page => {
    await ask(page, 'What is the weather like in Oslo?')
    await page.goto(`${url}/#/raw`)
    await page.getByTestId('raw-exchange').first().click()
  }
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
for (const [name, prepare] of Object.entries(VIEWS)) {
  for (const [width, viewport] of Object.entries(WIDTHS)) {
    for (const colorScheme of ['light', 'dark']) {
      const picture = `${name}-${width}-${colorScheme}`
      if (words.length > 0 && !words.some(word => picture.includes(word))) continue
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', hasTouch: width === '360' })
      const page = await context.newPage()
      page.setDefaultTimeout(20_000)
      try {
        await page.goto(`${url}/`)
        await page.getByTestId('chat-empty').waitFor()
        await prepare(page)
        await delay(400)
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
        if (overflow > 0) process.exitCode = 1
        console.log(`${picture}${overflow > 0 ? `: ${overflow} px wider than the window` : ''}`)
      } catch (err) {
        process.exitCode = 1
        console.log(`${picture}: ${err.message.split('\n')[0]}`)
      }
      await page.screenshot({ path: join(folder, `${picture}.png`) })
      await context.close()
      for (const { id } of (await (await fetch(`${url}/vac/weather/conversations`)).json()).conversations) await fetch(`${url}/vac/weather/conversations/${id}`, { method: 'DELETE' })
    }
  }
}
await browser.close()
await Promise.all([app.close(), closed.close()])
