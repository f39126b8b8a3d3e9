/**
 * The style sheets: one for all pages (login, consent, messages), another that pages with lists add, and the host's accent
 * color.
 */

/** Style rules of every page. */
export const formLook = `
:root { color-scheme: light dark; --ground: #f3f4f6; --card: #ffffff; --text: #1b2430; --muted: #55606e;
  --line: #7d8794; --accent: #1d5bb8; --on-accent: #ffffff; --alert: #9c1f1b; --alert-ground: #fdeeec }
@media (prefers-color-scheme: dark) { :root { --ground: #14181d; --card: #1e242b; --text: #e8ecf1; --muted: #aab4c0;
  --line: #78828e; --accent: #8bb8ff; --on-accent: #10233f; --alert: #ffb4ac; --alert-ground: #3a1d1b } }
* { box-sizing: border-box }
body { margin: 0; padding: 6vh 1rem 2rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 25rem; margin: 0 auto; padding: 2rem 1.5rem; background: var(--card); border-radius: .75rem;
  box-shadow: 0 1px 3px rgb(0 0 0 / .15) }
h1 { margin: 0 0 .75rem; font-size: 1.5rem; line-height: 1.25 }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
.muted { color: var(--muted); font-size: .9375rem }
.alert { margin: 0 0 1rem; padding: .75rem 1rem; border-left: .25rem solid var(--alert); border-radius: .25rem;
  background: var(--alert-ground); color: var(--alert) }
label { display: block; margin-bottom: .25rem; font-weight: 600 }
input { width: 100%; min-height: 2.75rem; margin-bottom: 1rem; padding: .5rem .75rem; border: 1px solid var(--line);
  border-radius: .5rem; background: var(--card); color: var(--text); font: inherit }
button { width: 100%; min-height: 2.75rem; margin-top: .5rem; padding: .5rem 1rem; border: 1px solid var(--accent);
  border-radius: .5rem; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600;
  cursor: pointer }
button.quiet { background: none; color: var(--accent) }
.scopes { margin: 0 0 1rem; padding-left: 1.25rem }
form + p { margin: 1rem 0 0 }
.brand { margin: 0 0 1rem; font-weight: 600 }
a { color: var(--accent) }
:focus-visible { outline: .1875rem solid var(--accent); outline-offset: .125rem }
code { display: block; margin: 0 0 1rem; padding: .75rem; border: 1px dashed var(--line); border-radius: .5rem;
  font: 1rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; user-select: all }
`

/** Additional style rules of pages with lists. */
export const listLook = `
:root { --good: #1a6b3c; --good-ground: #e5f4eb; --warn: #7a4d00; --warn-ground: #fdf2dc; --info: #1d4f91;
  --info-ground: #e8f0fb; --quiet-ground: #eceff3; --rule: #dde2e8; --edge: #c3cad3; --on-alert: #ffffff }
@media (prefers-color-scheme: dark) { :root { --good: #7fd6a2; --good-ground: #16301f; --warn: #f0c169;
  --warn-ground: #35290f; --info: #9cc4ff; --info-ground: #17293f; --quiet-ground: #2a323b; --rule: #333c46; --edge: #56616d; --on-alert: #3a1d1b } }
body { padding: 0 0 3rem }
main { max-width: 72rem; padding: 1.25rem 1rem; background: none; border-radius: 0; box-shadow: none }
h1:focus { outline: none }
h2 { margin: 0 0 .75rem; font-size: 1.125rem; line-height: 1.3 }
button, .button { width: auto; margin: 0; font-size: .9375rem }
.button { display: inline-flex; align-items: center; min-height: 2.75rem; padding: .5rem 1rem;
  border: 1px solid var(--edge); border-radius: .5rem; font-weight: 600; text-decoration: none; cursor: pointer }
button.quiet, .button.quiet { border-color: var(--edge); background: var(--card); color: var(--text) }
a.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent) }
button.quiet:hover, .button.quiet:hover { background: var(--quiet-ground) }
button.danger { border-color: var(--alert); background: none; color: var(--alert) }
.dialog button.danger { background: var(--alert); color: var(--on-alert) }
button[disabled] { opacity: .55; cursor: default }
select, input, textarea { min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card); color: var(--text); font: inherit }
input[type="checkbox"] { flex: none; width: 1.5rem; min-height: 1.5rem; height: 1.5rem; margin: 0;
  accent-color: var(--accent) }
td input[type="checkbox"], th input[type="checkbox"] { display: block }
h3 { margin: 1.25rem 0 .5rem; font-size: 1rem }
.field { margin: 0 0 1rem }
.field input, .field select, .field textarea { margin: 0; max-width: 100% }
.field .muted { margin: .25rem 0 0 }
.fields input[type="text"], .fields input[type="url"], .fields textarea { width: 100% }
.fields { max-width: 44rem }
fieldset { margin: 0 0 1rem; padding: .5rem 1rem; border: 1px solid var(--rule); border-radius: .5rem }
legend { padding: 0 .25rem; font-weight: 600 }
.problem { margin: .375rem 0 0; color: var(--alert); font-weight: 600 }
[aria-invalid] { border-color: var(--alert) !important; border-width: 2px !important }
.choice { padding: .625rem 0; border-bottom: 1px solid var(--rule) }
.choice:last-child { border-bottom: 0 }
.choice > p { margin: 0 }
.choice > details { margin: 0 0 0 2.25rem }
.lines { white-space: pre-line }
.box { display: flex; gap: .75rem; align-items: center; min-height: 2.75rem; margin: 0; font-weight: 400 }
.dialog { width: min(32rem, calc(100vw - 2rem)); margin: auto; padding: 1.5rem; border: 1px solid var(--rule);
  border-radius: .75rem; background: var(--card); color: var(--text); white-space: normal;
  box-shadow: 0 .75rem 3rem rgb(0 0 0 / .35) }
.dialog::backdrop { background: rgb(10 15 20 / .45) }
.dialog h2 { overflow-wrap: anywhere }
.dialog form > h2 { margin: 0 0 .75rem }
.dialog form > p { margin: 0 0 1rem }
.end { justify-content: flex-end }
.menu { position: relative }
.menu > summary { list-style: none }
.menu > summary::-webkit-details-marker { display: none }
.menu > summary::after { content: ""; width: .5rem; height: .5rem; margin: -.25rem 0 0 .625rem;
  border: solid currentcolor; border-width: 0 .125rem .125rem 0; transform: rotate(45deg) }
.menu > div { position: absolute; right: 0; z-index: 2; min-width: 15rem; margin: .25rem 0 0; padding: .375rem;
  border: 1px solid var(--rule); border-radius: .625rem; background: var(--card);
  box-shadow: 0 .5rem 1.5rem rgb(0 0 0 / .18) }
.menu > div > a, .menu > div > button { display: flex; align-items: center; width: 100%; min-height: 2.75rem;
  padding: .5rem .75rem; border: 0; border-radius: .375rem; background: none; color: var(--text); font-weight: 400;
  text-align: left; text-decoration: none }
.menu > div > :is(a, button):hover { background: var(--quiet-ground) }
.head { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; align-items: center; justify-content: space-between;
  margin: 0 0 1.25rem }
.head > div { min-width: 0 }
.head h1 { margin: 0; overflow-wrap: anywhere }
.head p { margin: .125rem 0 0 }
.risky { border-color: var(--alert) }
.risky .apart { margin: 0 }
.risky .apart > p { margin: 0 }
.under { display: block; color: var(--muted); font-size: .875rem }
.selected { margin: 1rem 0 0 }
.pager, table + button { margin: 1rem 0 0 }
.bar .alert { max-width: 70rem; margin: .5rem auto }
pre.code { max-height: none; white-space: pre; overflow-wrap: normal }
.keys { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .5rem 0; padding: 0; list-style: none;
  font-size: .875rem }
.key { display: inline-block; width: .75rem; height: .75rem; vertical-align: -.0625rem; border-radius: .1875rem }
.key.delivered { background: var(--good) }
.key.failed { background: var(--alert) }
.key.waiting { background: var(--line) }
.chart { display: grid; grid-template-columns: 1fr 1fr; color: var(--muted); font-size: .8125rem }
.chart svg { grid-column: 1 / 3; width: 100%; height: 9rem; border: solid var(--rule); border-width: 1px 0 }
.chart .top { grid-column: 1 / 3 }
.chart :last-child { text-align: right }
.chart .delivered { fill: var(--good) }
.chart .failed { fill: var(--alert) }
.chart .waiting { fill: var(--line) }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 1rem; margin: 0 0 1rem }
.numbers dt { color: var(--muted); font-size: .875rem }
.numbers dd { margin: 0; font-size: 1.5rem; font-weight: 650; font-variant-numeric: tabular-nums }
.tabs { display: flex; flex-wrap: wrap; gap: .25rem }
.tabs a { display: inline-flex; align-items: center; min-height: 2.75rem; padding: 0 .75rem; border-radius: .5rem;
  color: var(--text); text-decoration: none }
.tabs a:hover { background: var(--quiet-ground) }
.tabs [aria-current] { background: var(--info-ground); color: var(--info); font-weight: 600 }
.panel { margin: 0 0 1.25rem; padding: 1.25rem; border: 1px solid var(--rule); border-radius: .75rem;
  background: var(--card) }
.row { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center }
.row > form { margin: 0 }
.row h1, .row h2 { margin: 0 }
.apart { justify-content: space-between; margin: 0 0 .75rem }
.panel > :last-child { margin-bottom: 0 }
.notice { margin: 0 0 1rem; padding: .75rem 1rem; border-radius: .5rem; background: var(--info-ground);
  color: var(--info) }
.notice.good { background: var(--good-ground); color: var(--good) }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .375rem 1.25rem; margin: 0 0 1rem }
.facts dt { color: var(--muted) }
.facts dd { margin: 0; min-width: 0 }
.state { display: inline-flex; align-items: center; gap: .375rem; padding: .0625rem .625rem; border-radius: 1rem;
  background: var(--quiet-ground); color: var(--text); font-size: .875rem; font-weight: 600; white-space: nowrap }
.state::before { content: ""; width: .5rem; height: .5rem; border-radius: 50%; background: currentcolor }
.state.delivered, .state.enabled, .state.acknowledged, .state.ready { background: var(--good-ground); color: var(--good) }
.state.retrying, .state.expired, .state.skipped, .state.failing { background: var(--warn-ground); color: var(--warn) }
.state.exhausted, .state.disabled, .state.failed { background: var(--alert-ground); color: var(--alert) }
.state.pending, .state.delivering { background: var(--info-ground); color: var(--info) }
table { width: 100%; border-collapse: collapse }
caption { padding: 0 0 .75rem; text-align: left }
th { padding: .375rem .75rem .375rem 0; border-bottom: 1px solid var(--rule); color: var(--muted); font-size: .8125rem;
  font-weight: 600; text-align: left; white-space: nowrap }
td { padding: .625rem .75rem .625rem 0; border-bottom: 1px solid var(--rule); vertical-align: top }
tbody tr:last-child td { border-bottom: 0 }
td { overflow-wrap: normal }
td a { display: inline-block; min-height: 1.5rem }
.whole { white-space: nowrap }
.mono, dd, td .mono { overflow-wrap: anywhere }
.number { font-variant-numeric: tabular-nums; white-space: nowrap }
.mono { font-family: ui-monospace, monospace; font-size: .875rem }
td .mono { font-size: .78125rem }
pre { margin: .5rem 0 0; padding: .75rem; max-height: 20rem; overflow: auto; border: 1px solid var(--rule);
  border-radius: .5rem; background: var(--ground); font: .8125rem/1.5 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere }
.timeline { margin: 0; padding: 0; list-style: none }
.timeline > li { position: relative; padding: 0 0 1.25rem 1.75rem }
.timeline > li::before { content: ""; position: absolute; left: .25rem; top: .5rem; width: .75rem; height: .75rem;
  border-radius: 50%; background: var(--alert) }
.timeline > li.acknowledged::before { background: var(--good) }
.timeline > li.coming::before { border: .125rem solid var(--info); background: none }
.timeline > li:not(:last-child)::after { content: ""; position: absolute; left: .5625rem; top: 1.5rem; bottom: -.25rem;
  width: .125rem; background: var(--rule) }
.timeline > li:last-child { padding-bottom: 0 }
.timeline p { margin: .25rem 0 0 }
summary { min-height: 1.75rem; cursor: pointer; color: var(--accent) }
pre + details, .panel > details { margin: .75rem 0 0 }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
@media (max-width: 40rem) {
  table, tbody, tr, td { display: block }
  thead { display: none }
  tbody tr { padding: .75rem 0; border-bottom: 1px solid var(--rule) }
  tbody tr:last-child { border-bottom: 0 }
  td { display: inline-block; margin-right: 1rem; padding: .125rem 0; border: 0; vertical-align: middle }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--muted); font-size: .875rem }
  td:empty { display: none }
  .deliveries td:nth-child(2) { width: calc(100% - 3rem); margin: 0 }
  .deliveries td:nth-child(-n + 5)::before, .integrations td::before { content: none }
  .integrations td:first-child { width: 100% }
  .facts { grid-template-columns: 1fr; gap: 0 }
  .facts dd { margin: 0 0 .5rem }
}
@media (prefers-reduced-motion: no-preference) { .panel { scroll-behavior: smooth } }
.bar { position: sticky; top: 0; z-index: 1; border-bottom: 1px solid var(--rule); background: var(--card) }
.bar > div { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: center; max-width: 72rem; margin: 0 auto;
  padding: .25rem 1rem }
.bar strong { font-size: 1.0625rem }
.bar .brand { margin: 0 }
.bar .home { display: inline-flex; gap: .5rem; align-items: center; min-height: 2.75rem; color: inherit; text-decoration: none }
.bar .home:hover { text-decoration: underline }
.who { display: flex; gap: .75rem; align-items: center; margin: 0 0 0 auto; color: var(--muted); font-size: .9375rem }
.bar .out button { border-color: transparent }
.bar nav { display: flex; flex-wrap: wrap; gap: .25rem }
.bar nav a { display: flex; align-items: center; min-height: 2.75rem; padding: 0 .75rem; border-radius: .5rem;
  color: var(--text); text-decoration: none }
.bar nav a[aria-current] { background: var(--info-ground); color: var(--info); font-weight: 600 }
.skip { position: absolute; left: -100rem }
.skip:focus { left: .5rem; top: .5rem; z-index: 2; padding: .5rem 1rem; background: var(--card) }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1rem; margin: 0 0 1.25rem }
.tile { display: flex; flex-direction: column; padding: 1rem 1.25rem; border: 1px solid var(--rule);
  border-radius: .75rem; background: var(--card) }
.tile h2 { margin: 0; color: var(--muted); font-size: .875rem; font-weight: 600 }
.tile .figure { margin: .125rem 0; font-size: 1.75rem; font-weight: 650; line-height: 1.2;
  font-variant-numeric: tabular-nums }
.tile .muted { margin: 0; font-size: .8125rem }
.states { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .625rem; margin: 0;
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
.filters { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; align-items: end;
  margin: 0 0 1rem }
.filters .field { margin: 0 }
.filters label { font-size: .875rem }
.filters :is(input, select) { width: 100% }
.filters button { justify-self: start }
.filters > .muted { grid-column: 1 / -1; margin: 0 }
@media (min-width: 40.01rem) {
  .deliveries td:nth-child(2) { width: 36% }
  .deliveries.all td:nth-child(2) { width: 30% }
  .integrations td:first-child { width: 38% }
  .integrations.wide td:first-child { width: 30% }
}
table a { text-decoration: none }
table a:is(:hover, :focus-visible) { text-decoration: underline }
.wide { width: 100% }
@media (max-width: 40rem) {
  .states { grid-template-columns: repeat(2, minmax(0, 1fr)) }
  .states a { padding: .5rem .25rem }
  .bar > div { padding: .25rem .5rem }
  .bar strong { padding-left: .5rem }
  .bar nav { order: 3; width: 100%; gap: 0 }
  .bar nav a { padding: 0 .5rem; font-size: .875rem }
  .filters { grid-template-columns: 1fr 1fr }
  .filters .field:has([type="search"], [type="datetime-local"]) { grid-column: 1 / -1 }
  .menu { position: static }
  .menu > div { right: auto; left: 0 }
  .head > .row { position: relative; width: 100% }
  .tiles { grid-template-columns: 1fr 1fr; gap: .75rem }
  .tile { padding: .75rem .875rem }
  .tile .figure { font-size: 1.375rem }
}
`

type Color = readonly [number, number, number]

const white: Color = [255, 255, 255]
const black: Color = [0, 0, 0]

/** The grounds that text in the accent color stands on: cards, in light and dark. */
const lightGround: Color = [243, 244, 246]
const darkGround: Color = [30, 36, 43]

/** Relative luminance (WCAG 2.1). */
const luminance = (color: Color): number => {
  const [r, g, b] = color.map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0)
}

/** Contrast of two colors (WCAG 2.1 section 1.4.3). */
const contrast = (a: Color, b: Color): number => {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].toSorted((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

const hexOf = (color: Color): string => `#${color.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`

/** Mixes a color with another in steps until it is readable on a ground. */
const readableOn = (color: Color, ground: Color, towards: Color): Color => {
  for (let part = 0; part <= 1; part += 0.05) {
    const [r, g, b] = [0, 1, 2].map((at) => Math.round((color[at] ?? 0) * (1 - part) + (towards[at] ?? 0) * part))
    const mixed: Color = [r ?? 0, g ?? 0, b ?? 0]
    if (contrast(mixed, ground) >= 4.6) return mixed
  }
  return towards
}

const accentRule = (accent: Color): string =>
  `--accent: ${hexOf(accent)}; --on-accent: ${hexOf(contrast(accent, white) >= 4.5 ? white : black)}`

/** Style rules for the host's accent color (`#rrggbb`), readable in light and dark. Empty without one. */
export const accentLook = (hex: string | undefined): string => {
  if (hex === undefined) return ""
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
  const light = accentRule(readableOn([r, g, b], lightGround, black))
  const dark = accentRule(readableOn([r, g, b], darkGround, white))
  return `:root { ${light} }\n@media (prefers-color-scheme: dark) { :root { ${dark} } }\n`
}
