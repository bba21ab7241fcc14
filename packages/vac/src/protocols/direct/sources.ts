import { ErrorBody } from '@polyvac/core'
import { Type } from '@sinclair/typebox'
import { acceptedType, BodyWithHeaders, readRoute, type Passage } from '../../protocol.js'
import { headingsAt } from './markdown.js'
import { PAGE_POLICY, sourcePage } from './source-page.js'
import { PassageView, SourceParams } from './source-schemas.js'

const HEADERS = { 'cache-control': 'private', vary: 'accept', 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' }

const PAGE_HEADERS = { ...HEADERS, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY }
const FORMS = ['application/json', 'text/html']

/** The route of passages, of every protocol. */
export const sourceRoutes = [
  readRoute({
    method: 'GET',
    path: '/:vector_name/sources/*',
    isOpen: true,
    schema: {
      operationId: 'getSource',
      summary: 'Show the passage that a citation names',
      tags: ['vac'],
      params: SourceParams,
      response: {
        200: { description: 'the passage', content: { 'application/json': { schema: PassageView }, 'text/html': { schema: Type.String() } } },
        '4xx': ErrorBody,
        '5xx': ErrorBody
      }
    },
    async read ({ passage, params, headers }) {
      const found = await passage(params.vector_name, params['*'])
      const title = found.source.split('/').at(-1) || found.source
      if (acceptedType(headers.accept, FORMS) === 'text/html') return new BodyWithHeaders(sourcePage(found, title), PAGE_HEADERS)
      return new BodyWithHeaders(viewOf(found, title), HEADERS)
    }
  })
]

function viewOf ({ source, text, mediaType, lines: cited, place, changed }: Passage, title: string): PassageView {
  const lines = cited === undefined ? [] : text.split(/\r?\n/)
  const heading = cited !== undefined && mediaType === 'text/markdown' ? headingsAt(lines, cited[0]).join(' > ') : ''
  return {
    source,
    title,
    ...heading !== '' && { heading },
    ...place !== undefined && { place },
    ...cited !== undefined && { lines: cited[0] === cited[1] ? String(cited[0]) : cited.join('-') },
    text: cited === undefined ? '' : lines.slice(cited[0] - 1, cited[1]).join('\n'),
    media_type: mediaType,
    ...changed !== undefined && { changed }
  }
}
