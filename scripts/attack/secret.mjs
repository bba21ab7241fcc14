/** In the environment of each host, and in no response. */
export const SECRET = 'canary-7f31c0'
