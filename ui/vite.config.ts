import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

// The page is served by the service from the root; `npm run dev` proxies the
// doors of a running one, so that a cookie set there works here too.
const service = process.env.PACKETBENCH_URL ?? 'http://127.0.0.1:7433'

export default defineConfig({
  plugins: [react(), tailwindcss()],
  server: {
    host: '127.0.0.1',
    proxy: {
      '/ws': { target: service, ws: true, changeOrigin: true },
      '/rpc': { target: service, changeOrigin: true },
      '/events': { target: service, changeOrigin: true },
    },
  },
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false },
    // The largest grammar of the highlighter, loaded when it is met.
    chunkSizeWarningLimit: 900,
  },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['test/setup.ts'],
    restoreMocks: true,
  },
})
