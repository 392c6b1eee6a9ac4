import { defineConfig } from "vite";

// The service's content security policy lets nothing inline run, so nothing is inlined here.
export default defineConfig({
  build: {
    outDir: "../../src/tacit/service/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // `npm run dev` beside a service that runs: the page renews itself, the service answers.
  server: { proxy: { "/api": "http://127.0.0.1:8000" } },
});
