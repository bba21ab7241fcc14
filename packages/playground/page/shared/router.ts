import { computed, signal } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => { hash.value = location.hash })

/** The address of the view: `#/<id>/<path…>?<query>`. */
export const route = computed(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?')
  const [id = '', ...rest] = path.split('/').map(part => { try { return decodeURIComponent(part) } catch { return part } })
  return { id, path: rest, query: new URLSearchParams(query) }
})

/** An address for `href`. */
export function addressOf (id: string, path: readonly string[] = [], query: Record<string, string> = {}): string {
  const search = new URLSearchParams(query).toString()
  return `#/${[id, ...path].map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

/** Replaces the address without a step in the history of the browser. */
export function replaceAddress (address: string): void {
  history.replaceState(null, '', address)
  hash.value = address
}
