/**
 * The style sheet of pages with lists, on top of that of all pages: the console, and the pages of an integration.
 */
export const look = `
:root { --good: #1a6b3c; --good-ground: #e5f4eb; --warn: #7a4d00; --warn-ground: #fdf2dc; --info: #1d4f91;
  --info-ground: #e8f0fb; --quiet-ground: #eceff3; --rule: #dde2e8 }
@media (prefers-color-scheme: dark) { :root { --good: #7fd6a2; --good-ground: #16301f; --warn: #f0c169;
  --warn-ground: #35290f; --info: #9cc4ff; --info-ground: #17293f; --quiet-ground: #2a323b; --rule: #333c46 } }
body { padding: 0 0 3rem }
main { max-width: 72rem; padding: 1.25rem 1rem; background: none; border-radius: 0; box-shadow: none }
h1:focus { outline: none }
h2 { margin: 0 0 .75rem; font-size: 1.125rem; line-height: 1.3 }
button, .button { width: auto; margin: 0; font-size: .9375rem }
.button { display: inline-flex; align-items: center; min-height: 2.75rem; padding: .5rem 1rem;
  border: 1px solid var(--accent); border-radius: .5rem; color: var(--accent); font-weight: 600;
  text-decoration: none }
button.danger { border-color: var(--alert); background: none; color: var(--alert) }
button[disabled] { opacity: .55; cursor: default }
select, input { min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card); color: var(--text); font: inherit }
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
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
@media (max-width: 40rem) {
  table, tbody, tr, td { display: block }
  thead { display: none }
  tbody tr { padding: .75rem 0; border-bottom: 1px solid var(--rule) }
  tbody tr:last-child { border-bottom: 0 }
  td { padding: .125rem 0; border: 0 }
  td:first-child, td:nth-child(2) { display: inline-block; margin-right: .75rem }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--muted); font-size: .875rem }
  td:empty { display: none }
  .facts { grid-template-columns: 1fr; gap: 0 }
  .facts dd { margin: 0 0 .5rem }
}
@media (prefers-reduced-motion: no-preference) { .panel { scroll-behavior: smooth } }
`
