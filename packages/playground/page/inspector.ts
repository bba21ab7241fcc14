// The views that show what the chat sends and receives. The build makes them a file that the page loads later.
export { Cards } from './cards/cards.js'
export { Compare } from './compare/compare.js'
export { Inbox } from './inbox/inbox.js'
export { Panel } from './inspector/panel.js'
export { Raw } from './raw/raw.js'
export { Timeline } from './timeline/timeline.js'
export { Tools } from './tools/tools.js'
