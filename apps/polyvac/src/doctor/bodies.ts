import { ok, unchecked, warning, type Finding } from './finding.js'
import { mcpPath } from './json-rpc.js'
import { describeFailure, type HttpClient } from '../client/http-client.js'

/** A body that no request of these protocols needs. It is announced and never sent. */
const HUGE_BYTES = 1024 * 1024 * 1024

/** Whether the service refuses a body of 1 GiB before it arrives. */
export async function * checkBodyLimit (client: HttpClient): AsyncGenerator<Finding> {
  for (const path of [mcpPath(client), 'a2a', 'openai/v1/chat/completions', 'openai/v1/responses']) {
    let status: number | undefined
    try {
      status = await client.announceBody(path, HUGE_BYTES)
    } catch (err) {
      yield ok('body limit', `a body of 1 GiB ends the connection (${describeFailure(err)})`)
      return
    }
    if (status === 404 || status === 405 || status === 501) continue
    if (status === undefined) yield warning('body limit', 'the service waits for a body of 1 GiB', 'set a limit of bodies in the service, or in the proxy: `client_max_body_size` in nginx')
    else if (status >= 400 && status < 500) yield ok('body limit', `a body of 1 GiB is refused with ${status} before it arrives`)
    else yield unchecked('body limit', `a body of 1 GiB is answered with ${status} before it arrives: its size is not checked`)
    return
  }
  yield unchecked('body limit', 'the service has no route with JSON bodies that is known')
}
