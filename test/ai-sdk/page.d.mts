export const HOOKS: ReadonlyArray<{ readonly version: string, readonly ai: any, readonly useChat: any, readonly useCompletion: any }>
export function mount (useHook: () => any, show?: (current: any) => unknown): { current (): any, leave (): void }
export function closePage (): Promise<void>
