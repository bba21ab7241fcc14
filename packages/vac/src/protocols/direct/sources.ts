import { ErrorBody } from '@polyvac/core'
import { Type } from '@sinclair/typebox'
import { BodyWithHeaders, readRoute, type Passage } from '../../protocol.js'
import { PassageView, SourceParams } from './source-schemas.js'

const HEADERS = { 'cache-control': 'private', vary: 'accept', 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' }

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
    read: async ({ passage, params }) => new BodyWithHeaders(viewOf(await passage(params.vector_name, params['*'])), HEADERS)
  })
]

function viewOf ({ source, text, mediaType, lines, place, changed }: Passage): PassageView {
  const cited = lines === undefined ? '' : text.split(/\r?\n/).slice(lines[0] - 1, lines[1]).join('\n')
  return {
    source,
    title: source.split('/').at(-1) || source,
    ...place !== undefined && { place },
    ...lines !== undefined && { lines: lines[0] === lines[1] ? String(lines[0]) : lines.join('-') },
    text: cited,
    media_type: mediaType,
    ...changed !== undefined && { changed }
  }
}
