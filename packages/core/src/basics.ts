// For Polyvac's own packages only: what a command needs before it loads anything. Private, no semantic versioning.
export { createError } from './basics/create-error.js'
export { nearest } from './basics/names.js'
export { VERSION } from './basics/version.js'
