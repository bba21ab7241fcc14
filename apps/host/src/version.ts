export { VERSION as version } from '@polyvac/core/plugin'
