import { isLargeJson, isRecord, yieldToEventLoop } from '@polyvac/core/plugin'
import type { Field, Type } from 'protobufjs'
import { fromJson } from './proto-json.js'

/** Elements that are encoded at once. Only elements that are not large are: together at most some MB. */
const BATCH = 250
/** The type of a field with a length in front: messages and texts. */
const LENGTH_DELIMITED = 2

/**
 * The bytes of a message from its ProtoJSON. The parts of a large message are encoded in turns of the event loop:
 * protobuf joins messages by joining their bytes.
 */
export async function encodeMessage (type: Type, json: unknown): Promise<Buffer> {
  if (!isLargeJson(json)) return encodeWhole(type, json)
  const pieces: Buffer[] = []
  await encodeParts(type, json, pieces)
  return Buffer.concat(pieces)
}

export function encodeWhole (type: Type, json: unknown): Buffer {
  return Buffer.from(type.encode(fromJson(type, json)).finish())
}

async function encodeParts (type: Type, json: unknown, pieces: Buffer[]): Promise<void> {
  await yieldToEventLoop()
  if (!isLargeJson(json)) {
    pieces.push(encodeWhole(type, json))
  } else if (type.fullName === '.google.protobuf.Value') {
    await encodeValue(type, json, pieces)
  } else if (type.fullName === '.google.protobuf.Struct') {
    await encodeMembers(type, Object.entries(json as object), pieces)
  } else {
    for (const field of type.fieldsArray) {
      const value = (json as Record<string, unknown>)[field.name]
      if (field.repeated && Array.isArray(value)) await encodeList(type, field, value, pieces)
      else if (value !== undefined) await encodeField(type, field, value, pieces)
    }
  }
}

async function encodeValue (type: Type, json: unknown, pieces: Buffer[]): Promise<void> {
  if (typeof json === 'string') {
    pieces.push(...lengthDelimited(fieldOf(type, 'stringValue').id, [Buffer.from(json)]))
  } else if (Array.isArray(json)) {
    const { id, resolvedType } = fieldOf(type, 'listValue')
    const list: Buffer[] = []
    await encodeList(resolvedType as Type, fieldOf(resolvedType as Type, 'values'), json, list)
    pieces.push(...lengthDelimited(id, list))
  } else {
    const { id, resolvedType } = fieldOf(type, 'structValue')
    await encodeNested(id, resolvedType as Type, json, pieces)
  }
}

/** The members of a Struct. */
async function encodeMembers (type: Type, members: ReadonlyArray<readonly [string, unknown]>, pieces: Buffer[]): Promise<void> {
  const { id, resolvedType } = fieldOf(type, 'fields')
  for (const batch of batches(members)) {
    await yieldToEventLoop()
    if (Array.isArray(batch)) {
      pieces.push(encodeWhole(type, Object.fromEntries(batch)))
    } else {
      const [key, value] = batch.large
      const parts = lengthDelimited(1, [Buffer.from(key)])
      await encodeNested(2, resolvedType as Type, value, parts)
      pieces.push(...lengthDelimited(id, parts))
    }
  }
}

/** The elements of a repeated field. */
async function encodeList (type: Type, field: Field, items: readonly unknown[], pieces: Buffer[]): Promise<void> {
  for (const batch of batches(items)) {
    await yieldToEventLoop()
    if (Array.isArray(batch)) pieces.push(encodeWhole(type, { [field.name]: batch }))
    else await encodeField(type, field, batch.large, pieces)
  }
}

/** Small items together, and large ones by themselves. */
function * batches<T> (items: readonly T[]): Generator<T[] | { readonly large: T }, void> {
  let batch: T[] = []
  for (const item of items) {
    const isLarge = isLargeJson(item)
    if (!isLarge) batch.push(item)
    if (batch.length > 0 && (isLarge || batch.length === BATCH)) {
      yield batch
      batch = []
    }
    if (isLarge) yield { large: item }
  }
  if (batch.length > 0) yield batch
}

async function encodeField (type: Type, field: Field, value: unknown, pieces: Buffer[]): Promise<void> {
  const { id, name, resolvedType } = field
  await yieldToEventLoop()
  if (typeof value === 'string' && field.type === 'string') {
    pieces.push(...lengthDelimited(id, [Buffer.from(value)]))
  } else if (resolvedType !== null && 'fieldsArray' in resolvedType && !field.map && (isRecord(value) || Array.isArray(value) || typeof value === 'string')) {
    await encodeNested(id, resolvedType, value, pieces)
  } else {
    pieces.push(encodeWhole(type, { [name]: field.repeated ? [value] : value }))
  }
}

async function encodeNested (id: number, type: Type, json: unknown, pieces: Buffer[]): Promise<void> {
  const parts: Buffer[] = []
  await encodeParts(type, json, parts)
  pieces.push(...lengthDelimited(id, parts))
}

function fieldOf (type: Type, name: string): Field {
  const field = type.fieldsArray.find(field => field.name === name)
  if (field === undefined) throw new Error(`the type ${type.fullName} has no field ${name}`)
  return field
}

function lengthDelimited (id: number, parts: readonly Buffer[]): Buffer[] {
  const length = parts.reduce((sum, { length }) => sum + length, 0)
  return [Buffer.from([...varint(id << 3 | LENGTH_DELIMITED), ...varint(length)]), ...parts]
}

function varint (value: number): number[] {
  const bytes: number[] = []
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push(value % 128 | 0x80)
  return [...bytes, value]
}
