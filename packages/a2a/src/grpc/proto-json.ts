import type { Enum, Field, MapField, Type } from 'protobufjs'

type Json = Record<string, unknown>

/**
 * A decoded message as ProtoJSON: names in camel case, enums by name, bytes as base64, `Struct` and `Value` as what
 * they hold. What was not on the wire is left out. (protobuf.dev, ProtoJSON format)
 */
export function toJson (type: Type, message: Json): unknown {
  switch (type.fullName) {
    case '.google.protobuf.Struct': return mapValues(message.fields as Json, value => fromValue(value as Json))
    case '.google.protobuf.Value': return fromValue(message)
    case '.google.protobuf.Timestamp': return timeOf(message)
  }
  const members: Array<[string, unknown]> = []
  for (const field of type.fieldsArray) {
    if (!Object.hasOwn(message, field.name)) continue
    const value = message[field.name]
    const convert = (value: unknown): unknown => convertField(field, value, valueToJson)
    if (field.map) members.push([field.name, mapValues(value as Json, convert)])
    else if (!field.repeated) members.push([field.name, convert(value)])
    else if ((value as unknown[]).length > 0) members.push([field.name, (value as unknown[]).map(convert)])
  }
  return Object.fromEntries(members)
}

/** ProtoJSON as what `type.encode` takes. Members that the type has not are left out. */
export function fromJson (type: Type, json: unknown): Json {
  switch (type.fullName) {
    case '.google.protobuf.Struct': return { fields: mapValues(json as Json, toValue) }
    case '.google.protobuf.Value': return toValue(json)
    case '.google.protobuf.Timestamp': {
      const ms = Date.parse(String(json))
      const seconds = Math.floor(ms / 1000)
      return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 }
    }
  }
  const given = json as Json
  const message: Json = {}
  for (const field of type.fieldsArray) {
    const value = Object.hasOwn(given, field.name) ? given[field.name] : undefined
    if (value === undefined || (value === null && field.resolvedType?.fullName !== '.google.protobuf.Value')) continue
    const convert = (value: unknown): unknown => convertField(field, value, valueFromJson)
    if (field.map) message[field.name] = mapValues(value as Json, convert)
    else message[field.name] = field.repeated ? (value as unknown[]).map(convert) : convert(value)
  }
  return message
}

type Convert = (kind: Type | Enum | string, value: unknown) => unknown

function convertField (field: Field | MapField, value: unknown, convert: Convert): unknown {
  return convert(field.resolvedType ?? field.type, value)
}

const valueToJson: Convert = (kind, value) => {
  if (kind === 'bytes') return Buffer.from(value as Uint8Array).toString('base64')
  if (typeof kind === 'string') return value
  // a number that the enum does not name stays one, which the schemas refuse
  return 'valuesById' in kind ? kind.valuesById[value as number] ?? value : toJson(kind, value as Json)
}

const valueFromJson: Convert = (kind, value) => {
  if (kind === 'bytes') return Buffer.from(value as string, 'base64')
  if (typeof kind === 'string') return value
  return 'valuesById' in kind ? kind.values[value as string] ?? 0 : fromJson(kind, value)
}

function fromValue (value: Json): unknown {
  if (Object.hasOwn(value, 'structValue')) {
    return mapValues((value.structValue as Json).fields as Json, member => fromValue(member as Json))
  }
  if (Object.hasOwn(value, 'listValue')) return (((value.listValue as Json).values ?? []) as Json[]).map(fromValue)
  const name = ['stringValue', 'numberValue', 'boolValue'].find(name => Object.hasOwn(value, name))
  return name === undefined ? null : value[name] ?? null
}

function toValue (json: unknown): Json {
  switch (typeof json) {
    case 'string': return { stringValue: json }
    case 'number': return { numberValue: json }
    case 'boolean': return { boolValue: json }
  }
  if (json === null || json === undefined) return { nullValue: 0 }
  return Array.isArray(json)
    ? { listValue: { values: json.map(toValue) } }
    : { structValue: { fields: mapValues(json as Json, toValue) } }
}

function mapValues (members: Json | undefined, convert: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(members ?? {}).map(([name, value]) => [name, convert(value)]))
}

function timeOf ({ seconds = 0, nanos = 0 }: Json): string {
  const at = new Date(Number(seconds) * 1000 + Math.floor(Number(nanos) / 1_000_000))
  return Number.isNaN(at.getTime()) ? 'no time' : at.toISOString()
}
