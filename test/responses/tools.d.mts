export const LOOPS: ReadonlyArray<readonly [name: string, ask: (url: string, question: string) => Promise<string>]>
