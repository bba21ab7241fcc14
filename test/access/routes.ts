import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import type { Row } from './row.js'

export interface Route { readonly methods: readonly string[], readonly url: string }

/** All routes of the applications that `make` creates, also those that no document shows. */
export async function collectRoutes (make: () => Promise<unknown>): Promise<Route[]> {
  const routes: Route[] = []
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', ({ method, url }) => { routes.push({ methods: [method].flat(), url }) })
  }
  subscribe('fastify.initialization', watch)
  try {
    await make()
  } finally {
    unsubscribe('fastify.initialization', watch)
  }
  return routes
}

/** A route that refuses the other methods of a path: no interface here has PUT. */
const isRefusal = ({ methods }: Route): boolean => methods.includes('PUT')

const withoutSlash = (url: string): string => url.length > 1 && !url.startsWith('/playground') ? url.replace(/\/$/, '') : url

/** The routes that need a row: HEAD and a slash at the end are derived from that. */
export function keysOf (routes: readonly Route[]): string[] {
  const own = routes.filter(route => !isRefusal(route))
  return [...new Set(own.flatMap(({ methods, url }) => methods.filter(method => method !== 'HEAD').map(method => `${method} ${withoutSlash(url)}`)))].sort()
}

/** The rows of HEAD, of a slash at the end, and of refused methods. */
export function derivedRows (rows: readonly Row[], routes: readonly Route[]): Row[] {
  const first = (key: string): Row | undefined => rows.find(({ route, method }) => route === key && method !== 'initialize')
  return routes.flatMap(route => route.methods.flatMap((method): Row[] => {
    const url = withoutSlash(route.url)
    if (isRefusal(route)) {
      // the other methods have the same handler
      const row = method === 'PUT' ? rows.find(({ route }) => route.endsWith(` ${url}`)) : undefined
      return row === undefined ? [] : [refusal(row, method, route.url)]
    }
    const row = first(`${method === 'HEAD' ? 'GET' : method} ${url}`)
    if (row === undefined || (method !== 'HEAD' && url === route.url)) return []
    return [variant(row, method, url !== route.url)]
  }))
}

function variant (row: Row, method: string, hasSlash: boolean): Row {
  return {
    ...row,
    about: [row.about, ...method === 'HEAD' ? ['HEAD'] : [], ...hasSlash ? ['slash'] : []].filter(Boolean).join(', '),
    states: ['input-required'],
    isDerived: true,
    // a list is in the body, which HEAD has not
    ...method === 'HEAD' && row.kind === 'list' && { mark: '' },
    make: async (id, sender) => {
      const request = await row.make(id, sender)
      if (typeof request === 'function' || 'rpc' in request) return request
      const path = hasSlash ? request.path.replace(/(\?|$)/, '/$1') : request.path
      return { ...request, path, ...method === 'HEAD' && { method } }
    }
  }
}

function refusal (row: Row, method: string, url: string): Row {
  const path = url.replace('::', ':').replaceAll(/:\w+(?=\/|$)/g, 'x')
  return {
    protocol: 'refused methods', route: `${method} ${url}`, kind: 'read', thing: 'nothing', isDerived: true, ...row.isPublic !== undefined && { isPublic: row.isPublic }, make: () => ({ method, path })
  }
}
