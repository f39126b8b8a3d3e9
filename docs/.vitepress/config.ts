/**
 * Settings of the documentation site, which `npm run docs` builds. A dead link fails the build.
 */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitepress"

const docs = fileURLToPath(new URL("..", import.meta.url))

/** Returns the sidebar items of the listed pages. Leaves out pages that don't exist. */
const pages = (...listed: ReadonlyArray<readonly [text: string, page: string]>) =>
  listed.filter(([, page]) => existsSync(`${docs}${page}.md`)).map(([text, page]) => ({ text, link: `/${page}` }))

const sidebar = [
  {
    text: "Begin",
    items: pages(["What it is", "index"], ["Compared with others", "compared"], ["Tutorial", "tutorial"])
  },
  {
    text: "Put it into a backend",
    items: pages(
      ["Embed it", "embed"],
      ["Examples", "examples/README"],
      ["Users, buildings and rights", "own-tables"],
      ["Publish events", "publishing"],
      ["Protect your own API", "protect-your-api"],
      ["Test your app", "test-your-app"],
      ["Use it from Effect", "from-effect"]
    )
  },
  {
    text: "Run it",
    items: pages(
      ["The service and its commands", "service"],
      ["Console and portal", "console"],
      ["Deploy and scale out", "scale-out"],
      ["When something fails", "operations"],
      ["Back up, rotate, upgrade", "maintenance"]
    )
  },
  {
    text: "Receive",
    items: pages(
      ["Guide for third parties", "third-party"],
      ["Receive webhooks", "receiving"],
      ["Test a receiver", "test-a-receiver"]
    )
  },
  {
    text: "Simulate",
    items: pages(["Simulator", "simulator"], ["Load testing", "load-testing"])
  },
  {
    text: "Rely on it",
    items: pages(["Guarantees", "guarantees"], ["Security", "security"])
  },
  {
    text: "Reference",
    items: pages(
      ["Settings", "reference/settings"],
      ["HTTP", "reference/http"],
      ["Error codes", "reference/errors"],
      ["Metrics", "reference/metrics"],
      ["Alerts", "reference/alerts"],
      ["Requirements of a receiver", "reference/requirements"],
      ["Data of events", "reference/data"],
      ["Simulator", "reference/simulate"],
      ["API", "reference/api/README"]
    )
  },
  {
    text: "Project",
    collapsed: true,
    items: pages(
      ["Contributing", "CONTRIBUTING"],
      ["Architecture", "architecture"],
      ["Decisions", "decisions"],
      ["Measurements", "measurements"],
      ["Roadmap", "roadmap"]
    )
  }
]

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3451b2" d="M3 1h10v14H3z"/><circle fill="#fff" cx="10.5" cy="8.5" r="1"/></svg>`

export default defineConfig({
  title: "doorhook",
  description: "Webhooks and OAuth for doors and intercoms, inside the backend you already have.",
  lang: "en",
  // An embedded icon of a door. Without it, browsers request a favicon that doesn't exist.
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  cleanUrls: true,
  srcExclude: ["examples/*/**", "node_modules/**", "deploy/**/README.md"],
  themeConfig: { sidebar, outline: [2, 3], search: { provider: "local" } },
  markdown: {
    config: (markdown) => {
      // Pages link images without a leading `./`, in Markdown and in HTML. VitePress needs it.
      const beside = (source: string): string => (/^[a-z]+\//.test(source) ? `./${source}` : source)
      markdown.core.ruler.push("images-beside", ({ tokens }) => {
        for (const token of tokens.flatMap((block) => [block, ...(block.children ?? [])])) {
          if (token.type === "image") token.attrSet("src", beside(token.attrGet("src") ?? ""))
          if (token.type === "html_block" || token.type === "html_inline") {
            token.content = token.content.replaceAll(
              /(<(?:img|source)[^>]*\s(?:src|srcset)=")([^"]+)/g,
              (_, tag, source) => tag + beside(source)
            )
          }
        }
      })
      // Links to files that are in the repository but not on the site become plain text.
      const { link_open: open, link_close: close } = markdown.renderer.rules
      const leaves = (href: string): boolean =>
        /^(\.\.\/|\.\/)?(\.\.\/|examples\/(?!README)|deploy\/|grafana|.*\.(ts|json|sql)$)/.test(href)
      // The page of the examples names their folders.
      const isExample = (page: string, href: string): boolean =>
        page.startsWith("examples/") && existsSync(`${docs}examples/${href}`)
      const inside: Array<boolean> = []
      markdown.renderer.rules["link_open"] = (tokens, index, options, env, self) => {
        const href = tokens[index]?.attrGet("href") ?? ""
        const outside = leaves(href) || isExample(String(env.relativePath), href)
        inside.push(outside)
        if (outside) return "<span>"
        return open === undefined ? self.renderToken(tokens, index, options) : open(tokens, index, options, env, self)
      }
      markdown.renderer.rules["link_close"] = (tokens, index, options, env, self) => {
        if (inside.pop() === true) return "</span>"
        return close === undefined ? self.renderToken(tokens, index, options) : close(tokens, index, options, env, self)
      }
    }
  }
})
