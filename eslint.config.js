import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['**/dist/**', '**/node_modules/**', '.tap/**', '.tests/**'] }),
  {
    rules: {
      // a TypeBox schema and its static type share one name
      '@typescript-eslint/no-redeclare': 'off',
      'no-redeclare': 'off',
      // the service description's own names are snake_case
      camelcase: 'off',
      // `void` marks a promise that nothing waits for: scripts/eslint-types.config.js finds those without it
      'no-void': ['error', { allowAsStatement: true }]
    }
  }
]
