import { Alias, isAlias, isCollection, isMap, isNode, isPair, isScalar, isSeq, Pair, visit, type Document, type Node, type YAMLMap } from 'yaml'

/** A place where a file cannot be merged, and why. */
export interface MergeProblem { readonly node: Node, readonly message: string }

/** Most entries that merge keys add to a file. */
const MAX_MERGED = 100_000

/** The aliases of a file, each with the node that it stands for; one without an anchor before it is left out. */
export function aliasesOf (document: Document): Map<Alias, Node> {
  // @keyed none: the keys are nodes of one file of the operator
  const aliases = new Map<Alias, Node>()
  // @keyed none: the keys are anchors of one file of the operator
  const anchors = new Map<string, Node>()
  visit(document, {
    Node: (_key, node) => {
      if (isAlias(node)) {
        const meant = anchors.get(node.source)
        if (meant !== undefined) aliases.set(node, meant)
      } else if (node.anchor !== undefined) anchors.set(node.anchor, node)
    }
  })
  return aliases
}

/**
 * Replaces the merge keys (`<<`) of a file by the entries that they stand for: those of the map itself come first, then
 * those of the first map that is merged. The entries keep their nodes, so that problems name their lines.
 */
export function mergeKeys (document: Document, aliases: Map<Alias, Node>): MergeProblem[] {
  // @keyed none: a list of one check of the configuration
  const problems: MergeProblem[] = []
  // @keyed none: the values are nodes of one file of the operator
  const begun = new Set<YAMLMap>()
  let added = 0
  let shared = 0
  // maps are merged in the order of the file, so those of aliases are complete
  visit(document, { Map: (_key, map) => { merge(map) } })
  return problems

  function merge (map: YAMLMap): void {
    if (begun.has(map)) return
    begun.add(map)
    const merges = map.items.filter(isMergeKey)
    if (merges.length === 0) return
    map.items = map.items.filter(item => !isMergeKey(item))
    // @keyed none: the values are keys of one map
    const keys = new Set<unknown>(map.items.map(({ key }) => isScalar(key) ? key.value : key))
    for (const { key, value } of merges) {
      for (const source of isSeq(value) ? value.items : [value]) {
        const from = isAlias(source) ? aliases.get(source) : source
        if (!isMap(from) || from === map) {
          problems.push({ node: isNode(source) ? source : key as Node, message: 'a merge key (<<) takes a map, an alias of one before it, or a list of them' })
          continue
        }
        merge(from)
        for (const item of from.items) {
          const name = isScalar(item.key) ? item.key.value : item.key
          if (keys.has(name)) continue
          if (++added > MAX_MERGED) {
            if (added === MAX_MERGED + 1) problems.push({ node: key as Node, message: `the merge keys (<<) of the file add more than ${MAX_MERGED} entries` })
            return
          }
          keys.add(name)
          map.items.push(isAlias(source) ? share(item) : item)
        }
      }
    }
  }

  /** The entry of another map. A list or map in it becomes an alias, which is converted once for all that merge it. */
  function share ({ key, value }: Pair): Pair {
    if (!isCollection(value)) return new Pair(key, value)
    value.anchor ??= `merged ${shared++}`
    const alias = new Alias(value.anchor)
    aliases.set(alias, value)
    return new Pair(key, alias)
  }
}

/** The node at a path, also below aliases. */
export function nodeAt (document: Document, aliases: ReadonlyMap<Alias, Node>, path: ReadonlyArray<string | number>): Node | undefined {
  let node: unknown = document.contents
  for (const key of path) {
    if (isAlias(node)) node = aliases.get(node)
    if (!isCollection(node)) return undefined
    node = node.get(key, true)
  }
  return isNode(node) ? node : undefined
}

/** `<<` without quotes. */
function isMergeKey (item: unknown): item is Pair {
  return isPair(item) && isScalar(item.key) && item.key.value === '<<' && item.key.type === 'PLAIN'
}
