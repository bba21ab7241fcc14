// The client of the suites' scenarios that sign a person in: a gateway whose only server, that of the scenario, has
// `per_owner`. The suite's authorization server grants each request without a page. The suite appends the URL.
import { createGateway } from '@polyvac/mcp-gateway'

const SERVER = 'suite'
const OWNER = 'alice'
/** The suite expects this client metadata document, which its authorization server does not fetch. */
const PUBLIC_URL = 'https://conformance-test.local'
const CLIENT_DOCUMENT = `${PUBLIC_URL}/client-metadata.json`
/** Sign-ins for one call: a wider scope needs another. */
const MAX_SIGN_INS = 4

const { client_id, client_secret } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}')
const url = process.argv.at(-1)
let issuer = await issuerOf(url)
const gateway = createGateway({ servers: entries(), signIn: { url: PUBLIC_URL, clientDocument: () => CLIENT_DOCUMENT } })
try {
  await signedIn(() => gateway.get(SERVER).request('ping', {}, { principal: { owner: OWNER } }).catch(err => { if (err.code === 'MCP_SIGN_IN_REQUIRED') throw err }))
  for (const { name } of await gateway.get(SERVER).list('tools', OWNER)) await signedIn(() => gateway.get(SERVER).call(name, {}, { principal: { owner: OWNER } }))
} finally {
  await gateway.close()
}

function entries () {
  return { [SERVER]: { url, per_owner: true, oauth: { issuer, ...client_id !== undefined && { client_id }, ...client_secret !== undefined && { client_secret } } } }
}

/** Does `work`, and signs in each time that it needs it. */
async function signedIn (work) {
  for (let i = 0; i < MAX_SIGN_INS; i++) {
    try {
      return await work()
    } catch (err) {
      process.stderr.write(`${err.message}\n`)
      if (err.code !== 'MCP_SIGN_IN_REQUIRED') return
      const now = await issuerOf(url)
      if (now !== issuer) {
        // the server moved, and the operator follows
        issuer = now
        await gateway.replace(entries())
        continue
      }
      await signIn(new URL(err.signIn.url).searchParams.get('ticket'))
    }
  }
}

/** What a browser does: sends the form of the page, follows its link, and comes back to the callback. */
async function signIn (ticket) {
  const page = await gateway.signIns.begin(ticket, OWNER)
  const { headers } = await fetch(page.url, { redirect: 'manual' })
  const callback = new URL(headers.get('location')).searchParams
  await gateway.signIns.complete(Object.fromEntries(callback), { path: SERVER, cookieOf: () => page.cookie.value, caller: OWNER }).catch(err => { process.stderr.write(`${err.message}\n`) })
}

/** The issuer that an operator would configure: the suite gives each run another port. */
async function issuerOf (url) {
  const { origin, pathname } = new URL(url)
  const { headers } = await fetch(url, { method: 'POST' })
  const [, named] = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '') ?? []
  const paths = [`/.well-known/oauth-protected-resource${pathname}`, '/.well-known/oauth-protected-resource']
  for (const address of [...named === undefined ? [] : [named], ...paths.map(path => `${origin}${path}`)]) {
    const response = await fetch(address)
    if (response.ok) return (await response.json()).authorization_servers[0]
  }
  return origin
}
