// The published clients of the Responses API, each by what a user of it writes. `connect` takes the address of the
// service and gives what the client can do; a function that a client has no way to do is absent.
import { openai } from './openai.mjs'
import { aiSdk, openResponses } from './ai-sdk.mjs'
import { agents } from './agents.mjs'
import { langchain } from './langchain.mjs'

export const CLIENTS = [...openai, ...aiSdk, openResponses, langchain, agents]
