import type { TObject } from '@sinclair/typebox'
import type { Path } from './schema-errors.js'

export interface ConfigOptions {
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Built-in interpreter names; any other must be a module path. */
  readonly interpreters?: readonly string[] | undefined
  /** Built-in kinds of memory; any other must be a module path. */
  readonly vectorstores?: readonly string[] | undefined
}

/** With the section that the program knows; without it `service` may be any map. */
export type SectionOptions = ConfigOptions & { readonly section?: ServiceSection | undefined }

/** What a program knows of the section `service` of a configuration file. */
export interface ServiceSection {
  /** URL of the module that exports this object as `SECTION`, for the thread that parses large files. */
  readonly module: string
  readonly schema: TObject
  /** The section of the file of an MCP client, to which its servers are added. */
  readonly ofClient: object
  /** Checks what the schema cannot express. `vac` and `service` may have any content. */
  readonly check: (check: FileCheck, file: { readonly vac: unknown, readonly service: Readonly<Record<string, unknown>> }, options: ConfigOptions) => void
}

/** How a section reports its problems: each at a path of the file. */
export interface FileCheck {
  /** Reports a problem of the value at `path`. */
  report (path: Path, message: string, hint?: string): void
  /** Reports a problem of the key at `path`. */
  reportKey (path: Path, message: string, hint?: string): void
  /** A value as messages may show it: one from the environment may be a secret. */
  describe (path: Path, value: unknown): string
  /** Reports a text that is none of `names`, nor, with `orPath`, a module path; undefined `names`: any may be right. */
  mustBeOneOf (name: unknown, names: readonly string[] | undefined, path: Path, what: string, orPath: boolean): void
  /** Reports a file without VACs that has nothing else to serve, either. */
  mustServe (vac: unknown, isOther: boolean, hint: string): void
}
