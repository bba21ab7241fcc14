import neostandard from 'neostandard'

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
  }
]
