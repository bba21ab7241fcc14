// Addresses of webhooks that lead into the machine's network. Only the guard sees those that are not loopback, and a
// stub resolves names.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import ts from 'typescript'
import { jsonOf, rpc, task } from './client.mjs'
import { configuration, root } from './host.mjs'

const { outputText } = ts.transpileModule(readFileSync(`${root}/packages/a2a/test/push/vectors.ts`, 'utf8'), { compilerOptions: { module: ts.ModuleKind.ESNext } })
const { privateHosts, privateAnswers } = await import(`data:text/javascript,${encodeURIComponent(outputText)}`)
const LOOPBACK = /^(?:127|0x7f|0177|017|2130706433|localhost|１２７|①|%31|api\.localhost|LOCALHOST|\[::1\]|\[0:0|\[::127|\[::ffff:(?:127|7f))/

let server
let hits = 0

export const group = {
  async host () {
    server = createServer((request, response) => { hits++; response.end() }).listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    return { config: configuration({ push: { allow: [`localhost:${server.address().port + 1}`] } }) }
  },
  async end () { server?.close() },
  async entries (context) {
    const { AddressGuard } = await import(`${root}/packages/a2a/dist/push/address-guard.js`)
    const { port } = server.address()
    const guard = new AddressGuard({ ports: [port] })
    const never = new AbortController().signal
    const refusal = promise => promise.then(() => 'it is accepted', err => err.code === 'PUSH_URL_REFUSED' ? undefined : `it fails with ${err.code ?? err.message}`)
    const { taskId } = jsonOf(await context.post('/a2a/tasks/send', task('hello'))).result
    const set = url => context.post('/a2a/tasks/pushNotification/set', rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { url } }))
    const isRefused = ({ status, text }) => status < 500 && /PUSH_URL_REFUSED|-32602/.test(text) ? [] : [`${status} ${text.slice(0, 200)}`]
    return [
      ...privateHosts.flatMap(host => ['https', 'http'].map(scheme => ({
        name: `the guard, ${scheme}://${host}`,
        async attack () {
          const url = `${scheme}://${host}:${port}/x`
          const reached = await guard.resolve(`${scheme}:`, new URL(url).hostname, port).then(() => 'a connection to it is allowed', err => err.code === 'PUSH_URL_REFUSED' ? undefined : String(err))
          return { tried: 2, problems: [await refusal(guard.check(url, never)), reached].filter(Boolean) }
        },
        holds: ({ problems }) => problems
      }))),
      ...Object.entries(privateAnswers).map(([name, addresses]) => ({
        name: `the guard, a name that resolves to ${addresses.join(', ')}`,
        async attack () {
          const lookup = async () => addresses.map(address => ({ address }))
          const stubbed = new AddressGuard({ lookup })
          const atDelivery = await stubbed.resolve('https:', name, 443).then(() => 'a connection to it is allowed', err => err.code === 'PUSH_URL_REFUSED' ? undefined : String(err))
          return { tried: 2, problems: [await refusal(stubbed.check(`https://${name}/`, never)), atDelivery].filter(Boolean) }
        },
        holds: ({ problems }) => problems
      })),
      {
        name: 'the guard, a name that moves after its registration',
        async attack () {
          let address = '93.184.215.14'
          const moving = new AddressGuard({ lookup: async () => [{ address }] })
          await moving.check('https://moving.example/', never)
          address = '127.0.0.1'
          return { allowed: await moving.resolve('https:', 'moving.example', 443).then(() => true, () => false) }
        },
        holds: ({ allowed }) => allowed ? ['a connection to it is allowed'] : []
      },
      ...privateHosts.filter(host => LOOPBACK.test(host)).map(host => ({
        name: `the host, ${host}`,
        attack: () => set(`https://${host}:${port}/x`),
        holds: isRefused
      })),
      ...['data:text/plain,x', 'file:///etc/passwd', 'unix:/tmp/x', 'ftp://127.0.0.1/', 'javascript:1', `https://u:p@127.0.0.1:${port}/`, `https://127.0.0.1/${'u'.repeat(65_536)}`, '//127.0.0.1/', '', 'https://', ' '].map(url => ({
        name: `the host, ${url.slice(0, 40)}`,
        attack: () => set(url),
        holds: isRefused
      })),
      { name: 'the canary', async attack () { return { hits } }, holds: ({ hits }) => hits === 0 ? [] : [`the canary got ${hits} requests`] }
    ]
  }
}
