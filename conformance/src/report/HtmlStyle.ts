/**
 * The style sheet of the HTML report: light and dark, narrow and wide, screen and paper. Its filters hide rows by `:has`,
 * without a script; a browser without `:has` shows all.
 */
import { verdicts } from "../judgement/Finding.ts"

const filters = verdicts
  .map((verdict) => `main:has(#show-${verdict}:not(:checked)) [data-verdict="${verdict}"] { display: none }`)
  .join("\n")

export const style = `
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --ink: #1c2024; --soft: #5b6470; --line: #d9dde2; --code: #f2f4f6; --link: #0b5cad;
  --PASS: #17753c; --FAIL: #c0261c; --WARN: #8a5a00; --INCONCLUSIVE: #6b3fa0; --NOT_OBSERVABLE: #4d5966; --SKIPPED: #4d5966; --ERROR: #b3265f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1c2024; --ink: #e8eaed; --soft: #a4adb8; --line: #363d45; --code: #24292f; --link: #7ab8ff;
    --PASS: #5cc983; --FAIL: #ff8177; --WARN: #e6b450; --INCONCLUSIVE: #c3a1f5; --NOT_OBSERVABLE: #a4adb8; --SKIPPED: #a4adb8; --ERROR: #ff8fb8;
  }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem }
h3 { font-size: 1rem; margin: 1.25rem 0 .35rem }
p { margin: .4rem 0 }
a { color: var(--link) }
.soft { color: var(--soft) }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem }
.head { border-left: .4rem solid var(--v) }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .5rem 1rem; margin: 1rem 0 0 }
.facts div { min-width: 0 } .facts div:first-child { grid-column: span 2 } .facts dt { color: var(--soft); font-size: .8rem } .facts dd { margin: 0 }
.note { border-left: .25rem solid var(--WARN); padding: .1rem .75rem; margin: .75rem 0 }
.v { color: var(--v); font-weight: 600; white-space: nowrap }
fieldset { border: 0; padding: 0; margin: 0 0 .75rem; display: flex; flex-wrap: wrap; gap: .35rem .9rem }
legend { padding: 0; color: var(--soft); font-size: .85rem }
label { display: inline-flex; gap: .4rem; align-items: center; min-height: 1.75rem }
@supports not selector(:has(a)) { fieldset { display: none } }
${filters}
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem; border-bottom: 1px solid var(--line) }
tbody th { padding-top: 1rem; border-bottom: 2px solid var(--line) }
td.v { width: 8.5rem }
.small { font-size: .85rem }
.id { font-weight: 600; white-space: nowrap }
details { margin: .75rem 0 } summary { cursor: pointer; padding: .15rem 0 }
details[data-verdict] { border-left: .4rem solid var(--v) }
details[data-verdict] > summary { list-style-position: inside }
dl.line { display: grid; grid-template-columns: 6.5rem 1fr; gap: .3rem .75rem; margin: .75rem 0 }
dl.line dt { color: var(--soft) } dl.line dd { margin: 0; min-width: 0 }
.followers { margin: 1rem 0 0 } .followers > summary { color: var(--soft) }
pre { background: var(--code); border-radius: .4rem; padding: .6rem .75rem; margin: .3rem 0; white-space: pre-wrap; font: .85rem/1.45 ui-monospace, monospace }
.sequence { list-style: none; margin: .5rem 1.5rem; padding: .25rem 0; border-inline: 2px solid var(--line) }
.ends { display: flex; justify-content: space-between; font-size: .85rem; color: var(--soft) }
.sequence details { margin: 0 } .sequence summary { padding: 0 }
.step { padding: .45rem .75rem .35rem; font-weight: 600 }
.aside { margin: .35rem .75rem; padding: .25rem .6rem; background: var(--code); border-radius: .3rem }
.arrow { position: relative; padding: .1rem .75rem .35rem; border-bottom: 2px solid var(--soft); margin-bottom: .45rem; font-size: .9rem }
.arrow::after { content: ""; position: absolute; bottom: -6px; border: 5px solid transparent }
.arrow.to::after { right: 0; border-left-color: var(--soft); border-right-width: 0; border-left-width: 9px }
.arrow.from { border-bottom-style: dashed; text-align: right }
.arrow.from::after { left: 0; border-right-color: var(--soft); border-left-width: 0; border-right-width: 9px }
.arrow.none { border: 0; text-align: right; color: var(--soft) } .arrow.none::after { display: none }
.arrow.here { border-color: var(--FAIL); color: var(--FAIL); font-weight: 600 }
.arrow.here.from::after { border-right-color: var(--FAIL) }
.bars { font-variant-numeric: tabular-nums } .bars td { padding: .12rem .5rem; border: 0 }
.bars td:first-child { width: 6rem; text-align: right; color: var(--soft); white-space: nowrap }
.bars .bar { display: inline-block; height: .8rem; background: var(--link); border-radius: .15rem; min-width: 2px; vertical-align: middle }
.bars .late .bar { background: var(--FAIL) }
.bars .deadline td { border-top: 2px dashed var(--FAIL); color: var(--FAIL); text-align: left; font-size: .85rem }
@media (max-width: 34rem) {
  body { font-size: 15px } dl.line { grid-template-columns: 1fr } dl.line dt { margin-top: .35rem }
  .sequence { margin-inline: .4rem } .facts { grid-template-columns: 1fr 1fr } td.v { width: 6.5rem; font-size: .85rem; white-space: normal }
}
@media print { fieldset { display: none } details { break-inside: avoid } body { background: none } }
`
