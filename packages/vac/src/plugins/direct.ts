// The public API of @polyvac/vac/direct.
import { protocolPlugin } from '../plugin.js'
import { direct } from '../protocols/direct/protocol.js'

/** Serves the direct routes alone, under /vac. */
export const directPlugin = protocolPlugin(direct)
export default directPlugin
export { VacQuery, VacStreamQuery, VacList } from '../protocols/direct/schemas.js'
