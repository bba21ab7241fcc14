/**
 * Algorithms of JWS with a public key. `none`, and HS* with the public key as its secret, would let anybody sign.
 */
export const SIGNATURE_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const
