import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

// The direction of the house: contract <- net <- store <- view <- app. A room
// may look left, never right.
const rooms = ['contract', 'net', 'store', 'view', 'app']
const why = {
  contract: 'contract is the language of every room, so it must cost nothing to import',
  net: 'net moves frames; it knows neither what a window keeps nor how it looks',
  store: 'store holds facts that must be testable without a page',
  view: 'view shows; only app decides what is put together',
}
const fences = Object.entries(why).map(([room, reason]) => {
  const forbidden = rooms.slice(rooms.indexOf(room) + 1)
  const libraries = room === 'view' ? [] : ['react', 'react-dom', 'react-dom/client', 'radix-ui']
  return {
    files: [`src/${room}/**/*.{ts,tsx}`],
    ignores: ['src/**/*.test.{ts,tsx}'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: libraries.map((name) => ({ name, message: `${reason}.` })),
          patterns: [
            { group: forbidden.flatMap((f) => [`**/${f}/*`, `**/${f}`]), message: `${reason}.` },
          ],
        },
      ],
    },
  }
})

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'src/contract/gen.ts', 'public/**', 'e2e/shots/**'] },
  {
    files: ['src/**/*.{ts,tsx}', 'vite.config.ts', 'test/**/*.{ts,tsx}'],
    extends: [...tseslint.configs.recommended],
    plugins: { 'react-hooks': reactHooks },
    languageOptions: {
      parserOptions: { projectService: true },
    },
    rules: {
      'react-hooks/rules-of-hooks': 'error',
      'react-hooks/exhaustive-deps': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { allowDefaultCaseForExhaustiveSwitch: true, considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'never' }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/contract/guards.ts', 'src/**/*.test.{ts,tsx}', 'test/**/*.{ts,tsx}'],
    rules: { '@typescript-eslint/consistent-type-assertions': 'off' },
  },
  ...fences,
)
