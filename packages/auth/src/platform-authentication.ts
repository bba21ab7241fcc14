import type { Authenticate, Principal } from '@polyvac/core'
import { ownerProblem } from '@polyvac/core/plugin'
import type { FastifyRequest } from 'fastify'
import { decodeJwt, type JWTPayload } from 'jose'
import { bearerToken, isSingle } from './bearer-token.js'
import { AuthOptionsError } from './errors.js'
import { trustedProxies } from './trusted-proxies.js'

/** `cloud_run`, or the header in which an authenticating proxy names the caller. */
export type Platform = 'cloud_run' | { readonly header: string }

export interface PlatformOptions {
  readonly platform: Platform
  /** Addresses of the platform: callers that reach the service around it are refused. */
  readonly trustedProxies: readonly string[]
}

const GOOGLE = 'https://accounts.google.com'
/** The credential that Cloud Run checks. */
const CLOUD_RUN = 'cloud_run'

/**
 * Takes the caller from the platform in front of the service, which has verified it. Only requests from the addresses
 * of `trustedProxies` count; without any, a caller that reaches the service could name any owner.
 * @throws AUTH_OPTIONS
 * @example platformAuthentication({ platform: { header: 'x-forwarded-user' }, trustedProxies: ['10.0.0.5'] })
 */
export function platformAuthentication ({ platform, trustedProxies: proxies }: PlatformOptions): Authenticate {
  if (!Array.isArray(proxies) || proxies.length === 0) {
    throw new AuthOptionsError('the caller that a platform names is believed only where the service cannot be reached around it; set trusted_proxies to the addresses of the platform')
  }
  const isProxy = trustedProxies(proxies)
  const read = platform === 'cloud_run' ? readCloudRun : headerReader(platform.header)
  const kind = platform === 'cloud_run' ? CLOUD_RUN : `header ${platform.header.toLowerCase()}`
  return Object.assign(
    (request: FastifyRequest) => isProxy(request.socket.remoteAddress) ? read(request) : undefined,
    {
      scheme: platform === 'cloud_run' ? { bearerFormat: 'JWT', issuers: [GOOGLE] } : {},
      current: (principal: Principal) => principal.credential === kind ? principal : undefined
    })
}

function headerReader (header: unknown): (request: FastifyRequest) => Principal | undefined {
  if (typeof header !== 'string' || !/^[\w-]+$/.test(header)) throw new AuthOptionsError('platform.header must be the name of a header')
  const name = header.toLowerCase()
  return ({ raw, headers: { [name]: value } }) => {
    // a second one may be of the caller, which a proxy that adds its own does not remove
    const isOwner = typeof value === 'string' && ownerProblem(value) === undefined && isSingle(raw.rawHeaders, name)
    return isOwner ? { owner: value, credential: `header ${name}` } : undefined
  }
}

/** The ID token that Cloud Run has verified. Cloud Run removes its signature, so it cannot be checked again here. */
function readCloudRun (request: FastifyRequest): Principal | undefined {
  const header = request.headers['x-serverless-authorization'] === undefined ? 'authorization' : 'x-serverless-authorization'
  const token = bearerToken(request, header)
  const { iss, sub, exp } = token === undefined ? {} : payloadOf(token)
  const isOfGoogle = iss === GOOGLE || iss === 'accounts.google.com'
  const owner = `${GOOGLE}|${sub}`
  if (!isOfGoogle || !sub || ownerProblem(sub) !== undefined || ownerProblem(owner) !== undefined) return undefined
  if (exp === undefined || exp < Date.now() / 1000) return undefined
  return { owner, credential: CLOUD_RUN, expiresAt: exp * 1000 }
}

function payloadOf (token: string): JWTPayload {
  try {
    return decodeJwt(token)
  } catch {
    return {}
  }
}
