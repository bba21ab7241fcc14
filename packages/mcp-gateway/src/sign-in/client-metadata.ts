import { isLoopbackHost } from '@polyvac/core/plugin'

/**
 * The fields of a client, for registration and for the metadata document.
 * @param server what the consent page of an authorization server shows next to the name of this software
 */
export function clientMetadata (redirectUri: string, server: string): { redirect_uris: string[], client_name: string, grant_types: string[], response_types: string[], token_endpoint_auth_method: string, application_type: 'native' | 'web' } {
  return {
    redirect_uris: [redirectUri],
    client_name: `Polyvac (${server})`,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: isLoopbackHost(new URL(redirectUri).hostname) ? 'native' : 'web'
  }
}
