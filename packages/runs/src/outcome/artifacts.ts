import { AnswerArtifact } from '@polyvac/core'
import { isBase64, problemsOf, VacInvalidResultError } from '@polyvac/core/plugin'
import type { TaskPart, TaskUpdate } from '@polyvac/tasks'
import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'

/** Artifacts that one answer may hold. */
export const MAX_ARTIFACTS = 100

const check = TypeCompiler.Compile(Type.Array(AnswerArtifact, { maxItems: MAX_ARTIFACTS }))
const CONTENTS = ['text', 'bytes', 'url', 'data'] as const

/** The artifacts of an answer, for the log of the task. @throws VAC_INVALID_RESULT */
export function artifactsOf (vac: string, artifacts: unknown): NonNullable<TaskUpdate['artifact']>[] {
  if (!check.Check(artifacts)) {
    const problems = problemsOf(check, artifacts, 'artifacts').map(({ path, message }) => `${path}: ${message}`)
    throw invalid(vac, `artifacts of another shape (${problems.join('; ')})`)
  }
  return artifacts.map(({ name, description, metadata, parts }) =>
    ({ name, description, metadata, parts: parts.map(part => toPart(vac, part)) }))
}

function toPart (vac: string, part: AnswerArtifact['parts'][number]): TaskPart {
  if (CONTENTS.filter(name => name in part).length !== 1) {
    throw invalid(vac, 'a part of an artifact without exactly one of text, bytes, url and data')
  }
  const { text, bytes, url: uri, data, filename, media_type: mediaType } = part
  const extras = { ...(filename === undefined ? {} : { filename }), ...(mediaType === undefined ? {} : { mediaType }) }
  if (text !== undefined) return { type: 'text', text, ...extras }
  if (bytes !== undefined) {
    if (!isBase64(bytes)) throw invalid(vac, 'a part of an artifact with bytes that are not base64')
    return { type: 'file', bytes, ...extras }
  }
  return uri !== undefined ? { type: 'file', uri, ...extras } : { type: 'data', data, ...extras }
}

function invalid (vac: string, problem: string): Error {
  return new VacInvalidResultError(JSON.stringify(vac), problem)
}
