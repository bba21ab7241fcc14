/** Names of the artifacts, by kind of skill (contract section 3). */
export const ARTIFACTS = { query: 'response', stream: 'streaming_response', memory: 'search_results' } as const
