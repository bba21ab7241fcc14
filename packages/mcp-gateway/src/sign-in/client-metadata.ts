import { isLoopbackHost } from '@polyvac/core/plugin'

/** The fields of a client, for registration and for the metadata document. */
export function clientMetadata (redirectUri: string): { redirect_uris: string[], client_name: string, grant_types: string[], response_types: string[], token_endpoint_auth_method: string, application_type: 'native' | 'web' } {
  return {
    redirect_uris: [redirectUri],
    client_name: 'Polyvac',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: isLoopbackHost(new URL(redirectUri).hostname) ? 'native' : 'web'
  }
}
