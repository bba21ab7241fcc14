import { TasksSettingsError } from '../errors.js'

/**
 * The database of an address for people, such as `db.example.org:5432/polyvac`: never the password, nor what may be a
 * part of one that is not percent-encoded.
 * @throws TASKS_SETTINGS, without the address
 */
export function databaseName (url: string | undefined): string {
  if (url === undefined || url === '') {
    // eslint-disable-next-line no-template-curly-in-string
    throw new TasksSettingsError('the store `postgres` needs the address of its database; set url: ${DATABASE_URL}')
  }
  // an address without a host, whose parameter `host` is the folder of a socket
  const whole = url.replace('@/', '@localhost/')
  const address = URL.canParse(whole) ? new URL(whole) : undefined
  if (address === undefined || !/^postgres(?:ql)?:$/.test(address.protocol) || !isEncoded(address)) {
    throw new TasksSettingsError('the address of the database cannot be read; write postgres://user:password@host:5432/database, ' +
      'and percent-encode special characters of the password, for example @ as %40')
  }
  return `${address.searchParams.get('host') ?? (address.host || 'localhost')}${address.pathname}`
}

/** Characters of a password that end it too early would be taken for a part of another kind. */
function isEncoded ({ username, password, pathname, search, hash }: URL): boolean {
  try {
    decodeURIComponent(`${username}${password}${pathname}`)
    return hash === '' && !`${pathname}${search}`.includes('@')
  } catch {
    return false
  }
}
