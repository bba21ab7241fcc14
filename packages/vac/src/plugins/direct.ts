// The public API of @polyvac/vac/direct.
import { protocolPlugin } from '../plugin.js'
import { direct } from '../protocols/direct/protocol.js'

/** Serves only the direct routes, under /vac. */
export const directPlugin = protocolPlugin(direct)
export default directPlugin
export { VacQuery, VacStreamQuery, VacList } from '../protocols/direct/schemas.js'
