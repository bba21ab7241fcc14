import { defineConfig } from 'vite'

const server = 'http://127.0.0.1:3000'

// `npm run dev` serves the page, and server.js the rest
export default defineConfig({ server: { proxy: { '/login': server, '/vac': server, '/ai': server } } })
