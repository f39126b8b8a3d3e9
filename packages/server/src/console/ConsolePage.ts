/**
 * The page of the operator's console. Its scripts fetch all content from the operator API, so the page itself needs no key.
 */
import { Html } from "@doorhook/core"
import type { PageContent } from "../oauth/Page.ts"
import { look } from "../portal/Look.ts"

/** The style of what only the console has. */
const style = `
.bar { position: sticky; top: 0; z-index: 1; border-bottom: 1px solid var(--rule); background: var(--card) }
.bar > div { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: center; max-width: 72rem; margin: 0 auto;
  padding: .25rem 1rem }
.bar strong { font-size: 1.0625rem }
.bar nav { display: flex; flex-wrap: wrap; gap: .25rem }
.bar nav a { display: flex; align-items: center; min-height: 2.75rem; padding: 0 .75rem; border-radius: .5rem;
  color: var(--text); text-decoration: none }
.bar nav a[aria-current] { background: var(--info-ground); color: var(--info); font-weight: 600 }
.bar button { margin-left: auto; border-color: transparent }
.skip { position: absolute; left: -100rem }
.skip:focus { left: .5rem; top: .5rem; z-index: 2; padding: .5rem 1rem; background: var(--card) }
.sign-in { max-width: 25rem; margin: 10vh auto 0 }
.sign-in input { width: 100% }
.sign-in button { width: 100% }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1rem; margin: 0 0 1.25rem }
.tile { display: flex; flex-direction: column; padding: 1rem 1.25rem; border: 1px solid var(--rule);
  border-radius: .75rem; background: var(--card) }
.tile h2 { margin: 0; color: var(--muted); font-size: .875rem; font-weight: 600 }
.tile .figure { margin: .125rem 0; font-size: 1.75rem; font-weight: 650; line-height: 1.2;
  font-variant-numeric: tabular-nums }
.tile .muted { margin: 0; font-size: .8125rem }
.tile svg { width: 100%; height: 2.5rem; margin-top: auto; padding-top: .5rem }
.spark { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke }
.area { fill: var(--info-ground); stroke: none }
.states { display: grid; grid-template-columns: repeat(8, 1fr); gap: .625rem; margin: 0;
  padding: 0; list-style: none }
.states a { display: block; height: 100%; padding: .625rem; border: 1px solid var(--rule); border-radius: .5rem;
  color: var(--text); text-decoration: none }
.states .state { padding: .0625rem .5rem; font-size: .8125rem }
.states .muted { font-size: .8125rem; line-height: 1.3; display: block }
.states a:hover { border-color: var(--accent) }
.states b { display: block; margin-top: .375rem; font-size: 1.25rem; font-variant-numeric: tabular-nums }
.halves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 0 1.25rem }
.plain { margin: 0; padding: 0; list-style: none }
.plain li { padding: .5rem 0; border-bottom: 1px solid var(--rule) }
.plain li:last-child { padding-bottom: 0; border-bottom: 0 }
.plain p { margin: .25rem 0 0 }
.strip { display: inline-flex; gap: .1875rem; vertical-align: middle }
.strip i { width: .5rem; height: 1.25rem; border-radius: .125rem; background: var(--line) }
.strip .delivered { background: var(--good) }
.strip .pending, .strip .delivering { background: var(--info) }
.strip .retrying, .strip .expired, .strip .skipped { background: var(--warn) }
.strip .exhausted { background: var(--alert) }
.filters { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin: 0 0 1rem }
.filters label { font-size: .875rem }
.filters input, .filters select { margin: 0; max-width: 100% }
.filters .wide { flex: 1 1 16rem }
.filters .wide input { width: 100% }
dialog { max-width: min(30rem, calc(100vw - 2rem)); padding: 1.5rem; border: 1px solid var(--line);
  border-radius: .75rem; background: var(--card); color: var(--text) }
dialog::backdrop { background: rgb(0 0 0 / .5) }
dialog .row { justify-content: flex-end }
#told { position: fixed; left: 1rem; right: 1rem; bottom: 1rem; z-index: 3; max-width: 40rem; margin: 0 auto;
  pointer-events: none }
#told p { margin: .5rem 0 0; box-shadow: 0 4px 16px rgb(0 0 0 / .25); pointer-events: auto }
[aria-busy="true"] { opacity: .6 }
@media (max-width: 72rem) { .states { grid-template-columns: repeat(4, 1fr) } }
@media (max-width: 40rem) {
  .states { grid-template-columns: repeat(2, 1fr) }
  .bar > div { padding: .25rem .5rem }
  .bar strong { padding-left: .5rem }
  .bar nav { order: 3; width: 100%; justify-content: space-between; gap: 0 }
  .bar nav a { padding: 0 .375rem; font-size: .875rem }
  .tiles { grid-template-columns: 1fr 1fr; gap: .75rem }
  .tile { padding: .75rem .875rem }
  .tile .figure { font-size: 1.375rem }
}
`

/** Only the console's own scripts run, and none can turn text into HTML. */
const allows = ["script-src 'self'", "connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"]

/** The page. Its addresses are relative, so that it works behind any prefix. */
export const consolePage: PageContent = {
  title: "doorhook console",
  style: look + style,
  allows,
  header: Html.template`<a class="skip" href="#main">Skip to the content</a>
<header class="bar" hidden><div><strong>doorhook</strong>
<nav aria-label="Console"><a href="#/">Overview</a><a href="#/deliveries">Deliveries</a><a href="#/integrations">Integrations</a><a href="#/notices">Notices</a></nav>
<button type="button" class="quiet" id="sign-out">Sign out</button></div></header>
`,
  body: Html.template`<div id="main"><noscript><p class="alert">The console needs JavaScript. Without it, use
<code>npx doorhook deliveries list</code>.</p></noscript></div>
<div id="told" role="status"></div>
<script type="module" src="console/main.js"></script>`
}
