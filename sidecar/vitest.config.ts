import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: 'test/globalSetup.ts',
    // Real children and a 400 MB vendor program on a small machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
