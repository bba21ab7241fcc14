// The lint rules that need types, for what is shipped: `npm run lint` runs them. They cost as much CPU time as all
// others three times over, so `npm test` leaves them to it.
import { plugins } from 'neostandard'
import { join } from 'node:path'

const { parser, plugin } = plugins['typescript-eslint']

export default [
  {
    files: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts'],
    plugins: { '@typescript-eslint': plugin },
    linterOptions: { reportUnusedDisableDirectives: 'off' },
    languageOptions: { parser, parserOptions: { projectService: true, tsconfigRootDir: join(import.meta.dirname, '..') } },
    rules: {
      // `void` marks a promise that never rejects, or that only paces a writer; what may reject is awaited, or caught
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error'
    }
  }
]
