import { test } from 'tap'
import { parseConfig } from '../src/index.js'

const CANARY = 'c4n4ry'

test('no message about a configuration contains the password of a URL', t => {
  const url = (password: string): string => `postgres://ann:${password}@db:5432/tasks`
  const lines = [
    `tasks: { store: ${url(CANARY)} }`,
    `tasks: { store: postgres, adress: "${url(`${CANARY}%40x`)}" }`,
    `tasks: { store: postgers, url: "${url(`${CANARY}@x/${CANARY}#?${CANARY}`)}" }`,
    `tasks: { pool: 0, url: "postgres://db/tasks?user=ann&password=${CANARY}" }`,
    `tasks: { pool: "${url(`${'x'.repeat(300)}${CANARY}`)}" }`,
    `tasks: { pool: "\${NO_SUCH_VARIABLE:-${url(CANARY)}}" }`,
    `public_url: ${url(CANARY)}`,
    `tasks: { pool: 0, path: ${'x'.repeat(400)}, url: "${url(`${CANARY.repeat(40)}`)}", max_tasks: 0 }`
  ]
  for (const line of lines) {
    const error = t.throws(() => parseConfig(`kind: vacConfig\nservice:\n  ${line}\nvac: { demo: {} }\n`, '/x/vac_config.yaml'), { code: 'CONFIG_INVALID' }) as unknown as Error
    t.notMatch(error.message, CANARY, line)
    t.match(error.message, line.startsWith('public') ? /public_url/ : /tasks/)
  }
  t.end()
})
