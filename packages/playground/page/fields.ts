/** A JSON object of a service, whose fields are checked where they are read. */
export type Fields = Record<string, any>
