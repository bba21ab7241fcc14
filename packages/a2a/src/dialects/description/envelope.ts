import { problemsOf } from '@polyvac/core/plugin'
import { Type, type TObject, type TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { InvalidParamsError, WrongMethodError } from '../../errors.js'
import { readEnvelope } from '../../protocol/json-rpc.js'
import { METHODS, type Method, type MethodName, type ParamsOf } from './methods.js'

/** The envelope of a method, for the OpenAPI document. */
export function requestSchema (name: MethodName, { params }: Method): TSchema {
  return Type.Object({
    jsonrpc: Type.Literal('2.0'),
    method: Type.Literal(name),
    params,
    id: Type.Union([Type.String(), Type.Number(), Type.Null()], { description: 'is copied to the answer' })
  })
}

/** The answer to a request. */
export function responseSchema ({ result }: Method): TSchema {
  return Type.Union([Type.Object({ jsonrpc: Type.Literal('2.0'), id: Type.Unknown(), result }), RpcFailure])
}

/** A refused request. `data.code` is stable, for programs. */
const RpcFailure = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Unknown(),
  error: Type.Object({
    code: Type.Integer(),
    message: Type.String(),
    data: Type.Object({ code: Type.String() }, { additionalProperties: true })
  })
}, { title: 'RpcFailure' })

// @keyed none: the keys are the methods of the protocol
const checks = new Map<MethodName, TypeCheck<TObject>>()

/**
 * The params of a request, checked from the outside in: envelope, method, params.
 * @throws BODY_TOO_DEEP, A2A_INVALID_REQUEST, A2A_WRONG_METHOD, A2A_INVALID_PARAMS
 */
export function paramsOf<Name extends MethodName> (body: unknown, name: Name): ParamsOf<Name> {
  const { method, params } = readEnvelope(body)
  if (method !== name) throw new WrongMethodError(name, JSON.stringify(method.slice(0, 64)))
  let check = checks.get(name)
  if (check === undefined) checks.set(name, check = TypeCompiler.Compile<TObject>(METHODS[name].params))
  if (!check.Check(params)) {
    const problems = problemsOf(check, params, 'params').map(({ path, message }) => `${path}: ${message}`)
    throw new InvalidParamsError(problems.join('; '))
  }
  return params as ParamsOf<Name>
}
