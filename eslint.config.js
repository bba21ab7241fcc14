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
    // these need types, which cost a third of the time of the whole lint: only what is shipped has them
    files: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts'],
    plugins: { '@typescript-eslint': plugins['typescript-eslint'].plugin },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error'
    }
  }
]
