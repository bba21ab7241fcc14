import neostandard, { plugins } from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['**/dist/**', '**/node_modules/**', '.tap/**', '.tests/**'] }),
  {
    rules: {
      // a TypeBox schema and its static type share one name
      '@typescript-eslint/no-redeclare': 'off',
      'no-redeclare': 'off',
      // the service description's own names are snake_case
      camelcase: 'off'
    }
  },
  {
    // These rules need types: only what is shipped has them. `void` marks a promise that never rejects, or that only
    // paces a writer; whatever may reject is awaited, or caught and logged.
    files: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts'],
    plugins: { '@typescript-eslint': plugins['typescript-eslint'].plugin },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      'no-void': ['error', { allowAsStatement: true }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error'
    }
  }
]
