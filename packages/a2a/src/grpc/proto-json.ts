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
  const told: Array<[string, unknown]> = []
  for (const field of type.fieldsArray) {
    if (!Object.hasOwn(message, field.name)) continue
    const value = message[field.name]
    if (field.map) told.push([field.name, mapValues(value as Json, value => convertField(field, value, valueToJson))])
    else if (!field.repeated) told.push([field.name, convertField(field, value, valueToJson)])
    else if ((value as unknown[]).length > 0) told.push([field.name, (value as unknown[]).map(value => convertField(field, value, valueToJson))])
  }
  return Object.fromEntries(told)
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
    if (field.map) message[field.name] = mapValues(value as Json, value => convertField(field, value, valueFromJson))
    else message[field.name] = field.repeated ? (value as unknown[]).map(value => convertField(field, value, valueFromJson)) : convertField(field, value, valueFromJson)
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
  if (Object.hasOwn(value, 'structValue')) return mapValues((value.structValue as Json).fields as Json, member => fromValue(member as Json))
  if (Object.hasOwn(value, 'listValue')) return (((value.listValue as Json).values ?? []) as Json[]).map(fromValue)
  return ['stringValue', 'numberValue', 'boolValue'].map(name => Object.hasOwn(value, name) ? value[name] : undefined).find(held => held !== undefined) ?? null
}

function toValue (json: unknown): Json {
  switch (typeof json) {
    case 'string': return { stringValue: json }
    case 'number': return { numberValue: json }
    case 'boolean': return { boolValue: json }
  }
  if (json === null || json === undefined) return { nullValue: 0 }
  return Array.isArray(json) ? { listValue: { values: json.map(toValue) } } : { structValue: { fields: mapValues(json as Json, toValue) } }
}

function mapValues (members: Json | undefined, convert: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(members ?? {}).map(([name, value]) => [name, convert(value)]))
}

function timeOf ({ seconds = 0, nanos = 0 }: Json): string {
  const at = new Date(Number(seconds) * 1000 + Math.floor(Number(nanos) / 1_000_000))
  return Number.isNaN(at.getTime()) ? 'no time' : at.toISOString()
}
