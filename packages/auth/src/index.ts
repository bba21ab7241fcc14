// The public API of @polyvac/auth: every export here is public, documented and follows semantic versioning.
export { firstOf } from './first-of.js'
export { jwtAuthentication, type JwtOptions } from './jwt-authentication.js'
export { platformAuthentication, type Platform, type PlatformOptions } from './platform-authentication.js'
export { createToken, tokenAuthentication, type TokenEntry } from './token-authentication.js'
export { trustedProxies } from './trusted-proxies.js'
