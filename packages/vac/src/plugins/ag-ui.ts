// The public API of @polyvac/vac/ag-ui.
import { protocolPlugin } from '../plugin.js'
import { agUi } from '../protocols/ag-ui/protocol.js'

/** Serves only AG-UI, under /ag-ui. */
export const agUiPlugin = protocolPlugin(agUi)
export default agUiPlugin
export { RunInput } from '../protocols/ag-ui/schemas.js'
