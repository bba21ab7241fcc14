// The public API of @polyvac/runs: every export here is public and follows semantic versioning.
export { createRuns, type OwnRuns, type RunsOptions } from './runs/create-runs.js'
export { CallerTasks, type TaskStep } from './tasks/caller-tasks.js'
export { skillRunner, type SkillOptions } from './execute/run-skill.js'
export type { RunnerOptions, TaskProtocol } from './execute/task-runner.js'
export type { CallOptions } from './execute/vac-call.js'
export type { TaskProblem } from './execute/run.js'
export { ARTIFACTS } from './outcome/artifact-names.js'
export { contextOf, questionText } from './conversation/messages.js'
