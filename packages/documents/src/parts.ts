// What other interpreters of Polyvac are made of: models, retrieval, citations and the check of their grounding. Not a
// public API: it changes with any version.
export { Citations } from './answer/citations.js'
export { foreignHosts } from './answer/foreign-hosts.js'
export { checkGrounding } from './answer/grounding.js'
export { retrieve } from './answer/retrieval.js'
export { codedCause, ModelError, modelFailure } from './model/model-client.js'
export { fitMessages, type ModelMessage } from './model/model-messages.js'
export { findModel, PORT, wantsModel } from './model/model-server.js'
export { openModel, type OpenModel } from './model/open-model.js'
export { usageOfSteps } from './model/steps-usage.js'
export { THINKING, THOUGHT_BEGINS, THOUGHT_WAS_ALL, ThinkingFilter } from './model/thinking.js'
export { readQuestion } from './search/question.js'
